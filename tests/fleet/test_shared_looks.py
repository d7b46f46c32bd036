"""Runs that wait for a look at their project share one, which begins after they asked."""

from __future__ import annotations

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from fleet.snapshot import SharedLooks


class Project:
    """Looked at by hand: a look ends when it may, and finds what was there when it began."""

    def __init__(self) -> None:
        self.state = 0
        self.looks = 0
        self.may_end = trio.Semaphore(0)
        self.error: Exception | None = None

    async def look(self) -> int:
        self.looks += 1
        found = self.state
        await self.may_end.acquire()
        if self.error is not None:
            raise self.error
        return found


@pytest.fixture
def project() -> Project:
    return Project()


async def ask(looks: SharedLooks[int], found: list[int]) -> None:
    found.append(await looks.look())


async def test_all_who_ask_during_one_look_share_the_next(project: Project):
    looks = SharedLooks(project.look)
    first: list[int] = []
    others: list[int] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask, looks, first)
        await wait_all_tasks_blocked()
        project.state = 1  # what changed before they asked is seen by them
        for _ in range(1_000):
            nursery.start_soon(ask, looks, others)
        await wait_all_tasks_blocked()
        project.may_end.release()
        await wait_all_tasks_blocked()
        assert (first, others) == ([0], [])
        project.may_end.release()
    assert others == [1] * 1_000
    assert project.looks == 2


async def test_who_asks_alone_is_looked_for_each_time(project: Project):
    looks = SharedLooks(project.look)
    for project.state in range(3):
        project.may_end.release()
        assert await looks.look() == project.state
    assert project.looks == 3


async def test_who_waited_for_a_look_that_failed_looks_itself(project: Project):
    looks = SharedLooks(project.look)
    told: list[str] = []

    async def fail() -> None:
        with pytest.raises(OSError, match="gone") as raised:
            await looks.look()
        told.append(str(raised.value))

    project.error = OSError("gone")
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(fail)
        await wait_all_tasks_blocked()
        for _ in range(3):
            project.may_end.release()
    assert told == ["gone"] * 3
    assert project.looks == 3
    project.error = None
    project.may_end.release()
    assert await looks.look() == 0


@pytest.mark.parametrize("who", [0, 1])
async def test_one_that_goes_takes_nothing_from_the_others(project: Project, who: int):
    looks = SharedLooks(project.look)
    found: list[int] = []
    scopes = [trio.CancelScope() for _ in range(4)]

    async def ask_within(scope: trio.CancelScope) -> None:
        with scope:
            await ask(looks, found)

    async with trio.open_nursery() as nursery:
        for scope in scopes:
            nursery.start_soon(ask_within, scope)
            await wait_all_tasks_blocked()
        scopes[who].cancel()
        await wait_all_tasks_blocked()
        for _ in range(2):
            project.may_end.release()
    assert len(found) >= 3
    assert project.looks == 2
