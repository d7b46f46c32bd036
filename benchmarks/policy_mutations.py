"""Mutated programs in every language through the guard: no exception, no hang, no crash.

    python -m benchmarks.policy_mutations [--count N] [--seed N] [--jobs N] [--keep DIR] [--json]

Programs of the case tables and real ones of this machine are changed at random, and judged as
`context-mode check` does. What raises, ends the guard, or has it answer later than the deadline is
kept in a folder, the program beside what was said of it; so are those too large to be understood.
Exits with 1 where there is such a program, other than too large a one.
"""

from __future__ import annotations

import collections
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import platformdirs

from benchmarks.mutations import Seeds, mutate
from benchmarks.policy_checks import Check, prepare, run_checks
from benchmarks.policy_seeds import join_seeds, real_seeds, table_seeds
from benchmarks.report import Report, Row, argument_parser, show, summary
from policy.deadline import HOOK_SECONDS, SECONDS

LATE_S = SECONDS * 1.05  # a timer of the kernel's is not exact, and to end a process takes a while
TOO_LARGE = "too large to be understood"
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
    if check.seconds > LATE_S:
        return f"took over {LATE_S:.2f} s"
    return TOO_LARGE if check.is_too_large else ""


def report(checks: Sequence[Check], languages: Sequence[str]) -> Report:
    """Times by language, failures by kind, and shares."""
    found = Report("policy_mutations")
    for language in sorted(set(languages)):
        some = [one for one, name in zip(checks, languages, strict=True) if name == language]
        large = sum(one.is_too_large for one in some)
        longest = max(one.seconds for one in some) * 1000
        label = (
            f"{language}, {len(some):,} programs, {large:,} too large, longest {longest:,.0f} ms"
        )
        found.add(Row(label, summary([one.seconds for one in some])))
    ordered = sorted(one.seconds for one in checks)
    found.figures = {
        "programs": len(checks),
        "exceptions": sum(bool(one.failure) and not one.was_ended for one in checks),
        "crashes_and_hangs_of_the_guard": sum(one.was_ended for one in checks),
        "answers_over_the_deadline": sum(second > LATE_S for second in ordered),
        "longest_beyond_the_deadline_ms": max(0.0, ordered[-1] - SECONDS) * 1000,
        "too_large_to_be_understood": sum(one.is_too_large for one in checks),
        "too_large_for_a_hook": sum(second > HOOK_SECONDS for second in ordered),
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
    """Write the programs with which something is wrong into a folder; how many of them failed."""
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
    return counts.total() - counts[TOO_LARGE]


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
