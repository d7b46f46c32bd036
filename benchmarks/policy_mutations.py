"""Mutated programs in every language through the guard: no exception, no hang, no crash.

    python -m benchmarks.policy_mutations [--count N] [--seed N] [--jobs N] [--keep DIR] [--json]

Programs of the case tables and real ones of this machine are changed at random. What raises, takes
longer than a second of processor time or ends its process is kept in a folder, the program beside
what was said of it. Exits with 1 where there is such a program.
"""

from __future__ import annotations

import collections
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import platformdirs

from benchmarks.mutations import Seeds, mutate
from benchmarks.policy_checks import KILL_S, Check, prepare, run_checks
from benchmarks.policy_seeds import join_seeds, real_seeds, table_seeds
from benchmarks.report import Report, Row, argument_parser, show, summary

HANG_S = 1.0  # of processor time
KEPT_MAX = 10  # programs of one kind of failure


def run_all(seeds: dict[str, list[str]], count: int, seed: int, jobs: int) -> list[Check]:
    """The checks of so many programs made of these seeds."""

    def tell(done: int) -> None:
        sys.stderr.write(f"{done:,} of {count:,} programs\n")

    with tempfile.TemporaryDirectory(prefix="ctxmode-bench-") as folder:
        return run_checks(prepare(Path(folder), seeds, seed), count, jobs, tell)


def kind(check: Check) -> str:
    """What is wrong with how a program was judged; empty where nothing is."""
    if check.failure:
        return check.failure
    return f"took over {HANG_S:.0f} s" if check.seconds > HANG_S else ""


def report(checks: Sequence[Check], languages: Sequence[str]) -> Report:
    """Times by language, failures by kind, and shares."""
    found = Report("policy_mutations")
    for language in sorted(set(languages)):
        seconds = [c.seconds for c, name in zip(checks, languages, strict=True) if name == language]
        found.add(Row(f"{language}, {len(seconds):,} programs", summary(seconds)))
    ordered = sorted(one.seconds for one in checks)
    found.figures = {
        "programs": len(checks),
        "exceptions": sum(bool(one.failure) and not one.was_ended for one in checks),
        f"longer_than_{HANG_S:.0f}_s": sum(one.seconds > HANG_S for one in checks),
        f"of_these_ended_at_{KILL_S:.0f}_s_or_by_a_crash": sum(one.was_ended for one in checks),
        **{f"p{part}_ms": at(ordered, part / 100) * 1000 for part in (50, 95, 99, 99.9, 100)},
        **shares("coverage", [one.coverage for one in checks]),
        **shares("decision", [one.decision for one in checks]),
    }
    kinds = collections.Counter(filter(None, map(kind, checks)))
    found.notes = (
        "processor time of one check, warm",
        *(f"{what}: {times:,}" for what, times in kinds.most_common()),
    )
    return found


def at(ordered: Sequence[float], share: float) -> float:
    """The sample that this share does not exceed."""
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def shares(name: str, values: Sequence[str]) -> dict[str, float]:
    """Percent of each value that there is."""
    counts = collections.Counter(filter(None, values))
    return {
        f"{name}_{value}_percent": 100 * number / len(values)
        for value, number in counts.most_common()
    }


def keep(checks: Iterable[Check], seed: int, seeds: Seeds, folder: Path) -> int:
    """Write the programs with which something is wrong into a folder; how many there are."""
    counts: collections.Counter[str] = collections.Counter()
    for one in checks:
        what = kind(one)
        if not what:
            continue
        counts[what] += 1
        if counts[what] <= KEPT_MAX:
            folder.mkdir(parents=True, exist_ok=True)
            program = mutate(one.number, seed, seeds)
            path = folder / f"{seed}-{one.number}-{program.language}"
            path.write_bytes(program.code.encode("utf-8", "surrogatepass"))
            path.with_suffix(".txt").write_text(
                f"{what}, {one.seconds:.2f} s\n{one.trace}", "utf-8", "backslashreplace"
            )
    return counts.total()


def main() -> int:
    parser = argument_parser(__name__, __doc__)
    parser.add_argument("--count", type=int, default=100_000, help="programs, over all languages")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    state = Path(platformdirs.user_data_dir("ctxmode", appauthor=False), "mutations")
    parser.add_argument("--keep", type=Path, default=state, metavar="DIR")
    args = parser.parse_args()
    seeds = join_seeds(table_seeds(), real_seeds())
    checks = run_all(seeds, args.count, args.seed, args.jobs)
    names = sorted(seeds)
    show(report(checks, [names[c.number % len(names)] for c in checks]), as_json=args.json)
    failed = keep(checks, args.seed, seeds, args.keep)
    if failed:
        sys.stderr.write(f"{failed:,} programs failed; examples are in {args.keep}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
