"""A fleet on loopback, laid out as docs/fleet.md has it: how workers add up, what a run pays.

The scheduler is a real one with certificates, workers are programs with a sandbox of their own, as
the tests have them. Stored files and keys lie beside the project.
"""

from __future__ import annotations

import functools
import gc
import multiprocessing
import os
import time
from contextlib import closing
from itertools import count
from pathlib import Path

import trio
import trio.testing

from benchmarks.engine import opened, time_run
from benchmarks.harness import Bench, measure, write_files
from executor import LocalEngine, Request
from fleet.journal import Journal
from fleet.turns import Turns

RUNS_OF_EACH = 12
SLEEP = Request("shell", "sleep 1; echo slept")
ECHO = Request("shell", "echo hello")
MOVES = Request("shell", "head -c 1000000 big-0.bin | base64 -w 76 | head -c 1000000")
FILES, FILE_BYTES = 10, 500_000
CODE_BYTES, ORDER_BYTES, AT_ONCE = 2_000, 6_000, 64


@measure(1, is_long=True, workers="1,2,4,8")
async def linearity(bench: Bench) -> None:
    """Measure runs of a second, that sleep, by growing numbers of workers."""
    from tests.fleet.real_parts import dask, fronting, working  # noqa: PLC0415 - needs dask

    alone, project = 0.0, bench.make_folder("project")
    (project / "data.txt").write_text("some data\n")
    with dask(bench.make_folder("site")) as site:
        for number in map(int, bench.options["workers"].split(",")):
            state = bench.folder / f"state-{number}"
            with working(site, number):
                async with fronting(site, project, state, at_once=2 * number) as front:
                    await _run_all(front.local, number)  # each worker has the project then
                    began = time.perf_counter()
                    await _run_all(front.local, RUNS_OF_EACH * number)
                    a_second = RUNS_OF_EACH * number / (time.perf_counter() - began)
            alone = alone or a_second / number
            bench.value(f"{number} workers: runs a second", a_second, "/s")
            share = 100 * a_second / (alone * number)
            bench.value(f"{number} workers: of linear", share, "%", bar="≥ 80 %")


async def _run_all(engine: LocalEngine, runs: int) -> None:
    async def one() -> None:
        completed = await engine.run(SLEEP)
        assert completed.result.ok, completed.result
        assert completed.result.worker is not None

    async with trio.open_nursery() as nursery:
        for _ in range(runs):
            nursery.start_soon(one)


@measure(40, is_long=True)
async def latency(bench: Bench) -> None:
    """Measure what a fleet adds to an idle run, then 5 MB of new files there and 1 MB back."""
    from tests.fleet.real_parts import dask, fronting, working  # noqa: PLC0415 - needs dask

    numbers, project = count(), bench.make_folder("project")
    write_files(project, ((f"{number}.txt", "some text\n" * 100) for number in range(50)))

    def write() -> None:
        for part in range(FILES):
            data = f"{next(numbers)} {part}\n".encode() * (FILE_BYTES // 4)
            (project / f"big-{part}.bin").write_bytes(data[:FILE_BYTES])

    with dask(bench.make_folder("site")) as site, working(site):
        async with (
            fronting(site, project, bench.folder / "front") as front,
            opened(bench) as engine,
        ):
            there, here = await bench.turns(
                functools.partial(front.local.run, ECHO),
                functools.partial(time_run, engine, ECHO),
                before=functools.partial(trio.sleep, 0.25),  # in which interpreters are prewarmed
                warm_up=10,
            )
            (moved,) = await bench.turns(
                functools.partial(front.local.run, MOVES), before=write, rounds=5, warm_up=0
            )
    bench.times("echo", there, "here", here, "≤ 20 ms more")
    bench.times("5 MB there, 1 MB back", moved, bar="≤ 1000 ms")


@measure(1, runs="10000")
def queue(bench: Bench) -> None:
    """Measure the memory that waiting runs add to a process which does nothing else."""
    waiting = int(bench.options["runs"])
    with multiprocessing.get_context("spawn").Pool(1) as alone:
        queued, called = alone.apply(measure_queue, (bench.folder, waiting))
    bench.value(f"{waiting:,} waiting: in journal and turns", queued, "MB")
    bench.value(f"{waiting:,} waiting: with a caller each", called, "MB", bar="≤ 100 MB")


def measure_queue(folder: Path, waiting: int) -> tuple[float, float]:
    """Return the megabytes that this process grows by: by the journal, then by callers, too."""
    return trio.run(_fill, folder, waiting)


async def _fill(folder: Path, waiting: int) -> tuple[float, float]:
    turns = Turns(AT_ONCE)
    with closing(Journal(folder / "journal.sqlite3", "front")) as journal:
        await _accept(journal, turns, range(-AT_ONCE, 0))  # what is allocated once, whatever comes
        before = _resident_mb()
        await _accept(journal, turns, range(waiting))
        queued = _resident_mb()
        async with trio.open_nursery() as nursery:
            for number in range(waiting):
                code = f"# {number}\n".ljust(CODE_BYTES, "x")
                nursery.start_soon(_wait, Request("python", code), trio.Event())
            await trio.testing.wait_all_tasks_blocked()
            called = _resident_mb()
            nursery.cancel_scope.cancel()
    return queued - before, called - before


async def _accept(journal: Journal, turns: Turns, numbers: range) -> None:
    """Accept runs a few at once, as connections bring them."""

    async def accept(first: int) -> None:
        for number in numbers[first::AT_ONCE]:
            name = f"run-{number:08}"
            await journal.accept(name, "owner", os.urandom(ORDER_BYTES), 10**9)
            turns.add(name, "owner", float(number))

    async with trio.open_nursery() as nursery:
        for first in range(AT_ONCE):
            nursery.start_soon(accept, first)


async def _wait(_request: Request, answered: trio.Event) -> None:
    await answered.wait()


def _resident_mb() -> float:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
