"""What the sandbox costs: each language's hello program through the executor and without it.

    python -m benchmarks.execute [--rounds N] [--language NAME]… [--path FOLDERS] [--json]

Without it means: the very same command lines, compilation included, started by hand with
`subprocess` in folders of their own, with no isolation, no limits and no capture to speak of.
Through the executor means cold, where nothing waits for a run, and warm, where its sandbox was
made before, and its interpreter started; the time to make what waits is not counted, but a machine
that is idle between two runs is. The three take turns, so that whatever else the machine does
falls on all. Every run gets a sandbox of its own; the executors are open already. `--path` is
where toolchains are looked for, to measure another than the fastest.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import trio

import runtimes
from executor import Isolation, LanguageReport, LocalEngine, Request, Settings, open_engine

WARM_UP_ROUNDS = 3  # what is used twice is kept warm from then on
WAIT_TICK_S = 0.02
WAIT_TICKS_MAX = 250
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"


@dataclass(frozen=True, slots=True)
class Times:
    """Wall times of one side, in milliseconds."""

    min_ms: float
    median_ms: float
    p95_ms: float


@dataclass(frozen=True, slots=True)
class Row:
    """One language: all sides, and what ours take in terms of the bare one."""

    language: str
    toolchain: str
    bare: Times
    cold: Times
    warm: Times
    cold_ratio: float
    warm_ratio: float
    waited: bool  # whether every warm run found something waiting


@dataclass(frozen=True, slots=True)
class Report:
    """All that was measured, and under which conditions."""

    rounds: int
    processors: int
    load_before: tuple[float, ...]
    load_after: tuple[float, ...]
    tier: str
    rows: tuple[Row, ...]
    not_here: tuple[str, ...]


def times(samples_s: Sequence[float]) -> Times:
    """Minimum, median, and the sample that 95 of 100 do not exceed (nearest rank)."""
    ordered = sorted(samples_s)
    p95 = ordered[math.ceil(0.95 * len(ordered)) - 1]
    return Times(ordered[0] * 1000, statistics.median(ordered) * 1000, p95 * 1000)


@dataclass(frozen=True, slots=True)
class ByHand:
    """A program that lies ready: its command lines, where and in which environment to start."""

    commands: tuple[tuple[str, ...], ...]
    folder: str
    environment: Mapping[str, str]


@contextmanager
def by_hand(candidate: runtimes.Candidate) -> Iterator[ByHand]:
    """The hello program in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="ctxmode-bench-") as folder:
        job, scratch = Path(folder, "job"), Path(folder, "scratch")
        job.mkdir()
        (scratch / "home").mkdir(parents=True)
        program = runtimes.prepare(
            candidate,
            code=candidate.language.hello,
            job_dir=str(job),
            scratch_dir=str(scratch),
            cwd=folder,
        )
        for name, content in program.files.items():
            (job / name).write_bytes(content)
        for name, target in program.links.items():
            (job / name).symlink_to(target)
        environment = {
            "PATH": ":".join((*candidate.path_entries, SYSTEM_PATH)),
            "HOME": str(scratch / "home"),
            "TMPDIR": str(scratch),
            **program.env,
        }
        yield ByHand(tuple(step.argv for step in program.steps), folder, environment)


def run_bare(candidate: runtimes.Candidate) -> float:
    """Seconds that the hello program takes by itself."""
    with by_hand(candidate) as ready:
        started = time.perf_counter()
        for command in ready.commands:
            done = subprocess.run(
                command, cwd=ready.folder, env=ready.environment, capture_output=True, check=True
            )
        took = time.perf_counter() - started
    expect(candidate.language, done.stdout.decode())
    return took


async def run_ours(executor: LocalEngine, language: runtimes.Language) -> float:
    """Seconds from the request to its result."""
    started = time.perf_counter()
    completed = await executor.run(Request(language.name, language.hello))
    took = time.perf_counter() - started
    expect(language, completed.result.stdout.text)
    return took


def expect(language: runtimes.Language, printed: str) -> None:
    if printed != language.hello_output:
        raise RuntimeError(f"{language.name} printed {printed!r}")


async def compare(
    cold: LocalEngine, warm: LocalEngine, candidate: runtimes.Candidate, rounds: int
) -> Row:
    """All sides in turn, after rounds that do not count."""
    bare, by_cold, by_warm, waited = [], [], [], True
    for number in range(WARM_UP_ROUNDS + rounds):
        bare.append(run_bare(candidate))
        by_cold.append(await run_ours(cold, candidate.language))
        await something_waits(warm)
        hits = sum(pool.hits for pool in warm.pools)
        by_warm.append(await run_ours(warm, candidate.language))
        if number >= WARM_UP_ROUNDS:
            waited = waited and sum(pool.hits for pool in warm.pools) > hits
    by_hand, never, always = (times(side[WARM_UP_ROUNDS:]) for side in (bare, by_cold, by_warm))
    return Row(
        candidate.language.name,
        candidate.toolchain.name,
        by_hand,
        never,
        always,
        never.median_ms / by_hand.median_ms,
        always.median_ms / by_hand.median_ms,
        waited,
    )


async def something_waits(executor: LocalEngine) -> None:
    """Until what is to wait for a run like the last one does, as far as anything is."""
    for _ in range(WAIT_TICKS_MAX):
        await trio.sleep(WAIT_TICK_S)
        if executor.pools and executor.pools[0].idle:
            return


def chosen(report: LanguageReport, project: Path) -> runtimes.Candidate:
    """The candidate that the executor reports to use."""
    row = runtimes.language(report.name)
    found = runtimes.candidates(
        row, os.environ["PATH"].split(":"), project, Path.home(), os.environ
    )
    return next(c for c in found if (c.path, c.toolchain.name) == (report.path, report.toolchain))


async def measure(languages: Sequence[str], rounds: int) -> Report:
    """Compare the languages that run here; none named means all."""
    load_before = os.getloadavg()
    with (
        tempfile.TemporaryDirectory(prefix="ctxmode-bench-") as project,
        tempfile.TemporaryDirectory(prefix="ctxmode-bench-") as state,
    ):
        opened = partial(
            open_engine,
            project=Path(project),
            state_dir=Path(state),
            rules=None,
            home=Path.home(),
        )
        async with opened(settings=Settings(prewarm=False)) as cold, opened() as warm:
            reports = [
                report
                for name, report in (await cold.languages()).items()
                if not languages or name in languages
            ]
            rows = [
                await compare(cold, warm, chosen(report, Path(project)), rounds)
                for report in reports
                if report.runnable
            ]
            isolation: Isolation = cold.isolation
    return Report(
        rounds,
        os.cpu_count() or 1,
        load_before,
        os.getloadavg(),
        isolation.tier,
        tuple(rows),
        tuple(report.name for report in reports if not report.runnable),
    )


def table(report: Report) -> str:
    lines = [
        "language    toolchain         by itself, ms             cold, ms             warm, ms"
        "        cold   warm",
        "                           min median    p95    min median    p95    min median    p95"
        "   ratio  ratio",
    ]
    lines += [
        f"{row.language:<11} {row.toolchain:<12}"
        + "".join(
            f"{side.min_ms:>7.1f}{side.median_ms:>7.1f}{side.p95_ms:>7.1f}"
            for side in (row.bare, row.cold, row.warm)
        )
        + f"{row.cold_ratio:>8.2f}{row.warm_ratio:>7.2f}{'' if row.waited else '  (not warm)'}"
        for row in report.rows
    ]
    before, after = report.load_before[0], report.load_after[0]
    lines.append(
        f"n = {report.rounds} each, taking turns; tier {report.tier}; {report.processors} "
        f"processors; load average {before:.2f} before, {after:.2f} after"
    )
    if report.not_here:
        lines.append(f"Not here: {', '.join(report.not_here)}")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.execute", description=__doc__)
    parser.add_argument("--rounds", type=int, default=20, metavar="N")
    parser.add_argument("--language", action="append", default=[], metavar="NAME")
    parser.add_argument("--path", metavar="FOLDERS")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(argv)
    if args.path:
        os.environ["PATH"] = args.path
    names = [runtimes.language(name).name for name in args.language]
    report = trio.run(measure, names, args.rounds)
    if args.json:
        json.dump(asdict(report), sys.stdout, indent=2)
        print()
    else:
        print(table(report))


if __name__ == "__main__":
    main()
