"""What is kept ahead of its use: how many, for how long, within which budget."""

from __future__ import annotations

from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from executor import pool as pool_module
from executor.budget import Budget
from executor.errors import SandboxError
from executor.pool import AGE_S_MAX, GUESS_BYTES, USES_MIN, Pool


@dataclass(frozen=True, slots=True)
class Kind:
    key: str

    @property
    def label(self) -> str:
        return self.key


@dataclass(slots=True, eq=False)
class Thing:
    kind: Kind
    made_at: float
    fresh: Hashable = "as it is"
    bytes: int = GUESS_BYTES


@dataclass(slots=True)
class Maker:
    made: list[Thing] = field(default_factory=list)
    buried: list[Thing] = field(default_factory=list)
    fails: bool = False
    busy: bool = False

    async def make(self, kind: Kind) -> Thing:
        if self.fails:
            raise SandboxError("not today")
        thing = Thing(kind, trio.current_time())
        self.made.append(thing)
        return thing


@pytest.fixture(autouse=True)
def enough_memory(monkeypatch):
    monkeypatch.setattr(pool_module.pressure, "is_short", lambda: False)


@asynccontextmanager
async def opened(tmp_path, maker: Maker, bytes_max: int = 1 << 30) -> AsyncIterator[Pool]:
    budget = Budget(tmp_path, "me", bytes_max)
    pool = Pool(maker.make, maker.buried.append, lambda: maker.busy, budget)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(pool.tend)
        yield pool
        nursery.cancel_scope.cancel()


async def use(pool: Pool, kind: Kind, times: int = USES_MIN) -> None:
    for _ in range(times):
        with pool.use(kind):
            pass
    await wait_all_tasks_blocked()


async def test_what_was_used_twice_is_kept_ahead(tmp_path):
    maker = Maker()
    async with opened(tmp_path, maker) as pool:
        await use(pool, Kind("a"), times=1)
        assert maker.made == []
        await use(pool, Kind("a"), times=1)
        assert await pool.take(Kind("a"), "as it is") is maker.made[0]
        assert await pool.take(Kind("b"), "as it is") is None


async def test_an_answer_goes_out_before_the_next_is_made(tmp_path):
    maker = Maker()
    async with opened(tmp_path, maker) as pool:
        await use(pool, Kind("a"), times=1)
        with pool.use(Kind("a")):
            pass
        for _ in range(pool_module.ROUNDS // 2):  # from hand to hand, as an answer goes
            await trio.lowlevel.checkpoint()
            assert maker.made == []
        await wait_all_tasks_blocked()
        assert len(maker.made) == 1


async def test_as_many_are_kept_as_were_in_use_at_once(tmp_path):
    maker = Maker()
    async with opened(tmp_path, maker) as pool:
        with pool.use(Kind("a")), pool.use(Kind("a")), pool.use(Kind("a")):
            pass
        await wait_all_tasks_blocked()
        assert pool.state[0].waiting == 3


async def test_what_shows_something_old_is_not_handed_out(tmp_path):
    maker = Maker()
    async with opened(tmp_path, maker) as pool:
        await use(pool, Kind("a"))
        assert await pool.take(Kind("a"), "as it is by now") is None
        assert maker.buried == maker.made[:1]


async def test_nothing_is_made_while_others_need_the_machine(tmp_path):
    maker = Maker(busy=True)
    async with opened(tmp_path, maker) as pool:
        await use(pool, Kind("a"))
        assert maker.made == []


async def test_the_kind_used_longest_ago_makes_room(tmp_path):
    maker = Maker()
    async with opened(tmp_path, maker, 2 * GUESS_BYTES - 1) as pool:
        await use(pool, Kind("old"))
        await use(pool, Kind("new"))
        assert {state.label: state.waiting for state in pool.state} == {"new": 1, "old": 0}


async def test_the_budget_is_everybodys_together(tmp_path):
    maker = Maker()
    async with opened(tmp_path, maker, bytes_max=100) as pool:
        await use(pool, Kind("a"))
        assert maker.made == []


async def test_memory_that_is_short_empties_the_pool(tmp_path, monkeypatch):
    maker = Maker()
    async with opened(tmp_path, maker) as pool:
        await use(pool, Kind("a"))
        monkeypatch.setattr(pool_module.pressure, "is_short", lambda: True)
        await use(pool, Kind("b"))
        assert maker.buried == maker.made
        assert len(maker.made) == 1


async def test_what_grows_old_is_given_up(tmp_path, autojump_clock: MockClock):
    maker = Maker()
    async with opened(tmp_path, maker) as pool:
        await use(pool, Kind("a"))
        await trio.sleep(AGE_S_MAX + 60)
        assert maker.buried == maker.made
        assert pool.state == ()


async def test_what_could_not_be_made_says_why(tmp_path):
    maker = Maker(fails=True)
    async with opened(tmp_path, maker) as pool:
        await use(pool, Kind("a"))
        assert pool.state[0].trouble == "not today"
        assert await pool.take(Kind("a"), "as it is") is None


async def test_at_the_end_nothing_is_kept(tmp_path):
    maker = Maker()
    async with opened(tmp_path, maker) as pool:
        await use(pool, Kind("a"))
    assert maker.buried == maker.made
    assert (tmp_path / "me.warm").read_text() == "0"
