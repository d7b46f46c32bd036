"""What is kept ahead of its use: how many, for how long, within which budget."""

from __future__ import annotations

from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from executor.errors import SandboxError
from executor.pool import pool as pool_module
from executor.pool.budget import Budget
from executor.pool.pool import (
    AGE_S_MAX,
    AT_ONCE_S,
    BURST_S,
    GUESS_BYTES,
    LOOK_S,
    PEAK_S,
    REFILL_S,
    USES_MIN,
    Pool,
)


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
    takes_s: float = 0.0
    at_once: int = 0
    at_once_max: int = 0

    async def make(self, kind: Kind) -> Thing:
        if self.fails:
            raise SandboxError("not today")
        self.at_once += 1
        self.at_once_max = max(self.at_once, self.at_once_max)
        await trio.sleep(self.takes_s)
        self.at_once -= 1
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


async def use(pool: Pool, kind: Kind, times: int = USES_MIN, rest_s: float = BURST_S) -> None:
    for _ in range(times):
        with pool.use(kind):
            pass
        await trio.sleep(rest_s)
    await wait_all_tasks_blocked()


async def test_what_was_used_twice_is_kept_ahead(autojump_clock, tmp_path):
    maker = Maker()
    async with opened(tmp_path, maker) as pool:
        await use(pool, Kind("a"), times=1)
        assert maker.made == []
        await use(pool, Kind("a"), times=1)
        assert await pool.take(Kind("a"), "as it is") is maker.made[0]
        assert await pool.take(Kind("b"), "as it is") is None


async def test_an_answer_goes_out_before_the_next_is_made(autojump_clock, tmp_path):
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


async def test_as_many_are_kept_as_were_in_use_at_once(autojump_clock, tmp_path):
    maker = Maker()
    async with opened(tmp_path, maker) as pool:
        with pool.use(Kind("a")), pool.use(Kind("a")), pool.use(Kind("a")):
            pass
        await wait_all_tasks_blocked()
        assert pool.state[0].waiting == 3


async def test_of_a_burst_as_many_are_kept_as_came_in_it(autojump_clock, tmp_path):
    maker = Maker(takes_s=REFILL_S / 100)
    async with opened(tmp_path, maker) as pool:
        await use(pool, Kind("a"), times=20, rest_s=BURST_S / 40)
        await trio.sleep(REFILL_S)
        assert pool.state[0].waiting == 20
        await trio.sleep(PEAK_S + LOOK_S)
        assert pool.state[0].waiting == 1


async def test_of_a_slow_kind_only_few_of_a_burst_are_kept(autojump_clock, tmp_path):
    maker = Maker(takes_s=REFILL_S / 3)
    async with opened(tmp_path, maker) as pool:
        await use(pool, Kind("a"), times=20, rest_s=BURST_S / 40)
        await trio.sleep(10 * REFILL_S)
        assert pool.state[0].waiting == 3


@pytest.mark.parametrize(("takes_s", "at_once"), [(AT_ONCE_S / 2, 2), (AT_ONCE_S, 1)])
async def test_the_quickly_made_are_made_at_once(autojump_clock, tmp_path, takes_s, at_once):
    maker = Maker(takes_s=takes_s)
    async with opened(tmp_path, maker) as pool:
        await use(pool, Kind("a"), times=20, rest_s=0)
        await trio.sleep(10 * REFILL_S)
        assert maker.at_once_max == at_once


async def test_what_shows_something_old_is_not_handed_out(autojump_clock, tmp_path):
    maker = Maker()
    async with opened(tmp_path, maker) as pool:
        await use(pool, Kind("a"))
        assert await pool.take(Kind("a"), "as it is by now") is None
        assert maker.buried == maker.made[:1]


async def test_nothing_is_made_while_others_need_the_machine(autojump_clock, tmp_path):
    maker = Maker(busy=True)
    async with opened(tmp_path, maker) as pool:
        await use(pool, Kind("a"))
        assert maker.made == []


async def test_the_kind_used_longest_ago_makes_room(autojump_clock, tmp_path):
    maker = Maker()
    async with opened(tmp_path, maker, 2 * GUESS_BYTES - 1) as pool:
        await use(pool, Kind("old"))
        await use(pool, Kind("new"))
        assert {state.label: state.waiting for state in pool.state} == {"new": 1, "old": 0}


async def test_the_budget_is_everybodys_together(autojump_clock, tmp_path):
    maker = Maker()
    async with opened(tmp_path, maker, bytes_max=100) as pool:
        await use(pool, Kind("a"))
        assert maker.made == []


async def test_memory_that_is_short_empties_the_pool(autojump_clock, tmp_path, monkeypatch):
    maker = Maker()
    async with opened(tmp_path, maker) as pool:
        await use(pool, Kind("a"))
        monkeypatch.setattr(pool_module.pressure, "is_short", lambda: True)
        await use(pool, Kind("b"))
        assert maker.buried == maker.made
        assert len(maker.made) == 1


async def test_what_grows_old_is_given_up(autojump_clock, tmp_path):
    maker = Maker()
    async with opened(tmp_path, maker) as pool:
        await use(pool, Kind("a"))
        await trio.sleep(AGE_S_MAX + 60)
        assert maker.buried == maker.made
        assert pool.state == ()


async def test_what_could_not_be_made_says_why(autojump_clock, tmp_path):
    maker = Maker(fails=True)
    async with opened(tmp_path, maker) as pool:
        await use(pool, Kind("a"))
        assert pool.state[0].trouble == "not today"
        assert await pool.take(Kind("a"), "as it is") is None


async def test_at_the_end_nothing_is_kept(autojump_clock, tmp_path):
    maker = Maker()
    async with opened(tmp_path, maker) as pool:
        await use(pool, Kind("a"))
    assert maker.buried == maker.made
    assert (tmp_path / "me.warm").read_text() == "0"
