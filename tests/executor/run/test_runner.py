"""The runner with stand-ins for place and box: what is drained, stopped, and told of it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio

from executor import Isolation, Limits, Result, Status
from executor.engine.box import Exit, Layout, LostError, Order
from executor.engine.tiers import TIERS
from executor.model import SandboxError
from executor.project.view.search import ProjectSearch
from executor.run.progress import RunRecord
from executor.run.runner import Runner

ENDED = Exit("run", 0, None, None, 0.1, 1, 1, False, [], 0)
INLINE_BYTES = 1000


class Place:
    """Where jobs are placed; its boxes are `Box`es."""

    search = ProjectSearch(Path("/nowhere"))
    tier, isolation, can, travels = "A", Isolation("A"), TIERS["A"], False

    def layout(self, *_: object, **__: object) -> Layout:
        return Layout(project="/project")


class Box:
    """A box whose program has printed `said`, and ends when it is told to, or at once."""

    def __init__(self, said: bytes = b"", *, lasts: bool = False) -> None:
        self.said = said
        self.lasts = lasts
        self.is_lost = self.is_dead = self.ignores = False
        self.handed_over = None
        self.layers: dict[str, Any] = {}
        self.starts = 0
        self.stopped = trio.Event()

    async def start(self, packed: bytes, stdin: bytes | None) -> dict[str, int]:
        self.starts += 1
        readers = {}
        for name, content in (("stdout", self.said), ("stderr", b"")):
            readers[name], writer = os.pipe2(os.O_CLOEXEC)
            os.write(writer, content)
            os.close(writer)
        return readers

    async def exit(self) -> Exit:
        if self.is_lost and self.starts == 1:
            raise LostError("it had ended")
        if self.is_dead:
            raise SandboxError("the supervisor was killed")
        if self.lasts or self.ignores:
            await self.stopped.wait()
        if self.ignores:
            await trio.sleep_forever()
        return replace(ENDED, reason="asked" if self.stopped.is_set() else None)

    async def stop(self) -> None:
        self.stopped.set()

    def take_fds(self) -> list[int]:
        return []


Make = Callable[[Box], Runner]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def made(box: Box, concurrency: int = 4) -> Runner:
        @contextlib.asynccontextmanager
        async def opened(*_: object, **__: object) -> AsyncIterator[Any]:
            yield box, None

        spools = tmp_path / "spools"
        spools.mkdir()
        place: Any = Place()
        return Runner(place, opened, spools, INLINE_BYTES, concurrency, door=None)

    return made


async def run(runner: Runner, **more: Any) -> Result:
    def job(layout: Layout) -> Order:
        return Order((), layout.project, {}, **({"limits": Limits()} | more))

    return (await runner.run(job)).result


async def test_what_is_printed_is_in_the_result(make: Make):
    result = await run(make(Box(b"word\n")))
    assert (result.status, result.stdout.text) == (Status.OK, "word\n")
    assert result.isolation.tier == "A"


async def test_a_large_stream_is_spooled_whole(make: Make):
    runner = make(Box(b"x" * (INLINE_BYTES + 1)))
    completed = await runner.run(lambda layout: Order((), "/", {}, Limits()))
    assert completed.stdout_spool is not None
    assert completed.stdout_spool.read_bytes() == b"x" * (INLINE_BYTES + 1)
    assert completed.stderr_spool is None


async def test_a_program_that_takes_too_long_is_stopped(make: Make, autojump_clock):
    box = Box(b"begun\n", lasts=True)
    result = await run(make(box), limits=Limits(wall_s=5))
    assert (result.status, result.stdout.text) == (Status.TIMED_OUT, "begun\n")
    assert box.stopped.is_set()


async def test_a_supervisor_that_does_not_report_is_told_of(make: Make, autojump_clock):
    box = Box()
    box.ignores = True
    result = await run(make(box), limits=Limits(wall_s=5))
    assert result.status is Status.TIMED_OUT
    assert "did not report" in result.message


async def test_a_flood_is_stopped_at_its_limit(make: Make):
    flood = Box(b"y" * 5000, lasts=True)
    result = await run(make(flood), limits=Limits(output_bytes=100))
    assert result.status is Status.OUTPUT_LIMIT


async def test_with_drain_a_flood_is_counted(make: Make):
    result = await run(make(Box(b"y" * 5000)), limits=Limits(output_bytes=100), drain=True)
    assert (result.status, result.stdout.bytes_total) == (Status.OK, 5000)
    assert "counted and discarded" in result.message


async def test_where_the_prewarmed_program_was_gone_a_new_one_is_started(make: Make):
    box = Box(b"word\n")
    box.is_lost = True
    assert (await run(make(box))).status is Status.OK
    assert box.starts == 2


async def test_a_dead_supervisor_is_no_program_that_failed(make: Make):
    box = Box()
    box.is_dead = True
    result = await run(make(box))
    assert result.status is Status.SANDBOX_ERROR
    assert "supervisor was killed" in result.message


async def test_a_run_can_be_stopped_by_its_number(make: Make):
    box = Box(lasts=True)
    runner = make(box)
    seen: list[RunRecord] = []

    async def stop_it() -> None:
        while not (seen and box.starts):
            await trio.lowlevel.checkpoint()
        assert await runner.stop(seen[0].number)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(stop_it)
        completed = await runner.run(
            lambda layout: Order((), "/", {}, Limits()),
            observe=seen.append,
        )
    assert completed.result.status is Status.CANCELLED
    assert not await runner.stop(seen[0].number)
