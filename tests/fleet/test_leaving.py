"""A worker that is told to end finishes what it has, and says so by its exit code."""

from __future__ import annotations

import signal
from pathlib import Path

import trio

from executor.engine.engine import Completed
from executor.model import Request, Status
from tests.fleet.real_parts import dask, fronting, until, working
from tests.processes import alive, unique_s

END_S_MAX = 60


async def test_a_worker_that_is_told_to_end_finishes_what_it_has(tmp_path: Path):
    project, mark = tmp_path / "project", unique_s()
    project.mkdir()
    ended: list[Completed] = []
    with dask(tmp_path) as site, working(site) as (worker,):
        async with fronting(site, project, tmp_path / "front") as front:

            async def run() -> None:
                ended.append(await front.local.run(Request("shell", f"sleep {mark}", timeout_s=3)))

            async with trio.open_nursery() as nursery:
                nursery.start_soon(run)
                await until(lambda: alive(mark))
                worker.process.send_signal(signal.SIGTERM)
        assert await trio.to_thread.run_sync(worker.process.wait, END_S_MAX) == 0
    (completed,) = ended
    assert completed.result.status is Status.TIMED_OUT
    assert completed.result.worker == worker.name
    assert not alive(mark)
