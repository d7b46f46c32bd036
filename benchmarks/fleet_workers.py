"""How far workers add up: runs of a second by 1, 2, 4 and 8, laid out as docs/fleet.md does.

Each worker is a program of its own with a sandbox of its own, that does one run at a time. Runs
sleep, so that the processors of one machine are enough for eight. The bar is 80 percent of linear.
"""

from __future__ import annotations

import time
from pathlib import Path

import trio

from benchmarks.fleet_parts import EngineHere, engines, front, prepare, workers
from benchmarks.report import Report
from executor import Request
from executor.model import Status
from fleet.front import Fleet

RUNS_OF_EACH = 12
RUN_S = 1.0
SLEEP = Request("shell", f"sleep {RUN_S}; echo slept")


def measure(folder: Path, report: Report, value: str) -> None:
    """Add how long the runs took with each number of workers."""
    counts = [int(one) for one in value.split(",")]
    project = prepare(folder)
    (project / "data.txt").write_text("some data\n")
    with engines(folder) as found:
        for engine in found:
            alone = 0.0
            for count in counts:
                with workers(engine, folder, count):
                    a_second = trio.run(_measure_runs, engine, folder, count)
                alone = alone or a_second / count
                share = a_second / (alone * count)
                report.figures[f"{engine.name}, {count} workers: runs a second"] = a_second
                report.figures[f"{engine.name}, {count} workers: percent of linear"] = 100 * share


async def _measure_runs(engine: EngineHere, folder: Path, count: int) -> float:
    async with front(engine, folder, at_once=2 * count) as (fleet, _):
        await _run_all(fleet, count)  # each worker has the project, and a cell that waits
        began = time.perf_counter()
        await _run_all(fleet, RUNS_OF_EACH * count)
        return RUNS_OF_EACH * count / (time.perf_counter() - began)


async def _run_all(fleet: Fleet, runs: int) -> None:
    async def one() -> None:
        completed = await fleet.run(SLEEP)
        assert completed.result.status is Status.OK, completed.result
        assert completed.result.worker is not None

    async with trio.open_nursery() as nursery:
        for _ in range(runs):
            nursery.start_soon(one)
