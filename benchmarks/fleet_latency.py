"""What a fleet adds to a run: the same `echo` here and through a cluster, in turn, idle.

The bar is 20 ms. Between runs there are pauses, in which interpreters are prewarmed. Then 5 MB of
new files there and 1 MB of output back, for which the bar is a second.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Coroutine
from pathlib import Path

import trio

from benchmarks.fleet_parts import EngineHere, engines, front, prepare, workers
from benchmarks.report import Report, Row, summary
from executor import LocalEngine, Request
from fleet.figures import Stage
from fleet.front import Fleet

WARM_UP, ROUNDS = 10, 80
PAUSE_S = 0.25
BAR_MS = {"Dask": 20.0}
MOVED_BAR_MS = 1000.0
ECHO = Request("shell", "echo hello")
MOVES = Request("shell", "head -c 1000000 big-0.bin | base64 -w 76 | head -c 1000000")
FILES, FILE_BYTES = 10, 500_000


def measure(folder: Path, report: Report, _: str) -> None:
    """Add each engine's runs to a report."""
    project = prepare(folder)
    for number in range(50):
        (project / f"{number}.txt").write_text("some text\n" * 100)
    with engines(folder) as found:
        for engine in found:
            with workers(engine, folder, 1):
                trio.run(_measure_engine, engine, folder, report)


async def _measure_engine(engine: EngineHere, folder: Path, report: Report) -> None:
    async with front(engine, folder) as (fleet, local):
        here, there = await _in_turns(fleet, local)
        bar_ms = BAR_MS[engine.name]
        report.add(Row(f"{engine.name}, echo", summary(there), summary(here), bar_ms=bar_ms))
        figures = fleet.figures
        added_s = statistics.median(there) - statistics.median(here)
        report.figures[f"{engine.name}_added_ms_p50"] = 1000 * added_s
        for stage in Stage:
            mean_ms = 1000 * figures.seconds[stage] / max(figures.times[stage], 1)
            report.figures[f"{engine.name}_{stage}_ms_in_the_mean"] = mean_ms
        moved = []
        for number in range(5):
            for part in range(FILES):
                data = f"{number} {part}\n".encode() * (FILE_BYTES // 4)
                (folder / "project" / f"big-{part}.bin").write_bytes(data[:FILE_BYTES])
            moved.append(await _time(lambda: fleet.run(MOVES)))
        report.add(
            Row(f"{engine.name}, 5 MB there, 1 MB back", summary(moved), bar_ms=MOVED_BAR_MS)
        )


async def _in_turns(fleet: Fleet, local: LocalEngine) -> tuple[list[float], list[float]]:
    here, there = [], []
    for number in range(WARM_UP + ROUNDS):
        await trio.sleep(PAUSE_S)
        took_there = await _time(lambda: fleet.run(ECHO))
        await trio.sleep(PAUSE_S)
        took_here = await _time(lambda: local.run(ECHO))
        if number >= WARM_UP:
            there.append(took_there)
            here.append(took_here)
    return here, there


async def _time(run: Callable[[], Coroutine[object, object, object]]) -> float:
    began = time.perf_counter()
    await run()
    return time.perf_counter() - began
