"""How many runs a journal takes: `python -m benchmarks.fleet_journal [--runs N] [--json]`.

Tasks accept runs at once, each on disk before it counts. Beside it, one task alone: a sync of the
disk for each. What the disk itself takes for a sync is among the figures.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import trio

from benchmarks.report import Report, Row, argument_parser, show, summary
from fleet.journal import Accepted, Journal

ORDER = os.urandom(4096)
TASKS = (8, 64, 500)
WAITING = 10_000  # of one owner, before it is measured again


async def accept_all(journal: Journal, name: str, tasks: int, runs: int) -> list[float]:
    """Accept so many runs; seconds that each took."""
    took: list[float] = []

    async def accept(task: int) -> None:
        for number in range(task, runs, tasks):
            started = time.perf_counter()
            run = Accepted(f"{name}-{number}", "owner", ORDER, 2e9)
            await journal.accept(run, 1_000_000)
            took.append(time.perf_counter() - started)

    async with trio.open_nursery() as nursery:
        for task in range(tasks):
            nursery.start_soon(accept, task)
    return took


def sync_alone(folder: Path, count: int) -> list[float]:
    """Seconds of each fdatasync behind a write of an order."""
    took = []
    with open(folder / "plain", "wb", buffering=0) as file:
        for _ in range(count):
            file.write(ORDER)
            started = time.perf_counter()
            os.fdatasync(file.fileno())
            took.append(time.perf_counter() - started)
    return took


async def measure(folder: Path, runs: int) -> Report:
    report = Report("fleet_journal")
    report.figures["sync_alone_ms"] = summary(sync_alone(folder, 100)).median_ms
    with closing(Journal(folder / "journal.sqlite3", "front")) as journal:
        started = time.perf_counter()
        alone = summary(await accept_all(journal, "alone", 1, min(runs, 300)))
        report.figures["alone_per_s"] = min(runs, 300) / (time.perf_counter() - started)
        for tasks in TASKS:
            started = time.perf_counter()
            took = summary(await accept_all(journal, f"t{tasks}", tasks, runs))
            report.figures[f"by_{tasks}_per_s"] = runs / (time.perf_counter() - started)
            report.add(Row(f"accepted by {tasks} at once", took, alone))
        await accept_all(journal, "filling", 500, WAITING)
        started = time.perf_counter()
        took = summary(await accept_all(journal, "full", 64, runs))
        report.figures["by_64_beside_10000_waiting_per_s"] = runs / (time.perf_counter() - started)
        report.add(Row(f"accepted by 64 at once, {WAITING} waiting", took, alone))
    report.notes = (f"{runs} runs with orders of {len(ORDER)} bytes, beside one task alone",)
    return report


def main(argv: Sequence[str] | None = None) -> None:
    parser = argument_parser(__name__, __doc__)
    parser.add_argument("--folder", type=Path, metavar="F", help="on the disk to measure")
    parser.add_argument("--runs", type=int, default=3000, metavar="N")
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        show(trio.run(measure, Path(folder), args.runs), as_json=args.json)


if __name__ == "__main__":
    main()
