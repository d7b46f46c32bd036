"""What is kept ahead of its use: how many, for how long, within which budget."""

from __future__ import annotations

from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from executor.model import SandboxError
from executor.pool import pool as pool_module
from executor.pool.cells import SharedBudget
from executor.pool.pool import (
    AGE_S_MAX,
    AT_ONCE_S,
    BURST_S,
    GUESS_BYTES,
    LOOK_S,
    PEAK_S,
    REFILL_S,
    Pool,
    PoolLimits,
)


@dataclass(frozen=True, slots=True)
class Purpose:
    key: str

    @property
    def label(self) -> str:
        return self.key


@dataclass(slots=True, eq=False)
class Thing:
    purpose: Purpose
    made_at: float
    fresh: Hashable = "as it is"
    bytes: int = GUESS_BYTES


@dataclass(slots=True)
class Factory:
    made: list[Thing] = field(default_factory=list)
    disposed: list[Thing] = field(default_factory=list)
    fails: bool = False
    busy: bool = False
    takes_s: float = 0.0
    at_once: int = 0
    at_once_max: int = 0

    async def make(self, purpose: Purpose) -> Thing:
        if self.fails:
            raise SandboxError("not today")
        self.at_once += 1
        self.at_once_max = max(self.at_once, self.at_once_max)
        await trio.sleep(self.takes_s)
        self.at_once -= 1
        thing = Thing(purpose, trio.current_time())
        self.made.append(thing)
        return thing


@pytest.fixture(autouse=True)
def enough_memory(monkeypatch):
    monkeypatch.setattr(pool_module, "is_short", lambda: False)


@asynccontextmanager
async def opened(
    tmp_path, factory: Factory, bytes_max: int = 1 << 30, limits: PoolLimits | None = None
) -> AsyncIterator[Pool]:
    budget = SharedBudget(tmp_path, "me", bytes_max)
    pool = Pool(factory.make, factory.disposed.append, lambda: factory.busy, budget.claim, limits)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(pool.serve)
        yield pool
        nursery.cancel_scope.cancel()


async def use(pool: Pool, purpose: Purpose, times: int = 2, rest_s: float = BURST_S) -> None:
    for _ in range(times):
        async with pool.lease(purpose, "as it is") as thing:
            if thing is not None:
                pool._dispose(thing)
        await trio.sleep(rest_s)
    await wait_all_tasks_blocked()


async def leased(pool: Pool, purpose: Purpose, fresh: Hashable = "as it is") -> Thing | None:
    async with pool.lease(purpose, fresh) as thing:
        return thing


async def test_what_was_used_twice_is_prewarmed(autojump_clock, tmp_path):
    factory = Factory()
    async with opened(tmp_path, factory) as pool:
        await use(pool, Purpose("a"), times=1)
        assert factory.made == []
        await use(pool, Purpose("a"), times=1)
        assert await leased(pool, Purpose("a")) is factory.made[0]
        assert await leased(pool, Purpose("b")) is None


async def test_as_many_are_kept_as_were_in_use_at_once(autojump_clock, tmp_path):
    factory = Factory()
    async with opened(tmp_path, factory) as pool:
        a = Purpose("a")
        async with pool.lease(a, ""), pool.lease(a, ""), pool.lease(a, ""):
            pass
        await wait_all_tasks_blocked()
        assert pool.state[0].idle == 3


async def test_of_a_burst_as_many_are_kept_as_came_in_it(autojump_clock, tmp_path):
    factory = Factory(takes_s=REFILL_S / 100)
    async with opened(tmp_path, factory) as pool:
        await use(pool, Purpose("a"), times=20, rest_s=BURST_S / 40)
        await trio.sleep(REFILL_S)
        assert pool.state[0].idle == 20
        await trio.sleep(PEAK_S + LOOK_S)
        assert pool.state[0].idle == 1


async def test_of_a_slow_kind_only_few_of_a_burst_are_kept(autojump_clock, tmp_path):
    factory = Factory(takes_s=REFILL_S / 3)
    async with opened(tmp_path, factory) as pool:
        await use(pool, Purpose("a"), times=20, rest_s=BURST_S / 40)
        await trio.sleep(10 * REFILL_S)
        assert pool.state[0].idle == 3


@pytest.mark.parametrize(("takes_s", "at_once"), [(AT_ONCE_S / 2, 2), (AT_ONCE_S, 1)])
async def test_the_quickly_made_are_made_at_once(autojump_clock, tmp_path, takes_s, at_once):
    factory = Factory(takes_s=takes_s)
    async with opened(tmp_path, factory) as pool:
        await use(pool, Purpose("a"), times=20, rest_s=0)
        await trio.sleep(10 * REFILL_S)
        assert factory.at_once_max == at_once


async def test_what_shows_something_old_is_not_handed_out(autojump_clock, tmp_path):
    factory = Factory()
    async with opened(tmp_path, factory) as pool:
        await use(pool, Purpose("a"))
        made = factory.made[0]
        assert await leased(pool, Purpose("a"), "as it is by now") is None
        assert factory.disposed == [made]


async def test_nothing_is_made_while_others_need_the_machine(autojump_clock, tmp_path):
    factory = Factory(busy=True)
    async with opened(tmp_path, factory) as pool:
        await use(pool, Purpose("a"))
        assert factory.made == []


async def test_the_kind_used_longest_ago_makes_room(autojump_clock, tmp_path):
    factory = Factory()
    async with opened(tmp_path, factory, 2 * GUESS_BYTES - 1) as pool:
        await use(pool, Purpose("old"))
        await use(pool, Purpose("new"))
        assert {state.label: state.idle for state in pool.state} == {"new": 1, "old": 0}


async def test_the_budget_is_everybodys_together(autojump_clock, tmp_path):
    factory = Factory()
    async with opened(tmp_path, factory, bytes_max=100) as pool:
        await use(pool, Purpose("a"))
        assert factory.made == []


async def test_memory_that_is_short_empties_the_pool(autojump_clock, tmp_path, monkeypatch):
    factory = Factory()
    async with opened(tmp_path, factory) as pool:
        await use(pool, Purpose("a"))
        monkeypatch.setattr(pool_module, "is_short", lambda: True)
        await use(pool, Purpose("b"))
        assert factory.disposed == factory.made
        assert len(factory.made) == 1


async def test_what_grows_old_is_given_up(autojump_clock, tmp_path):
    factory = Factory()
    async with opened(tmp_path, factory) as pool:
        await use(pool, Purpose("a"))
        await trio.sleep(AGE_S_MAX + 60)
        assert factory.disposed == factory.made
        assert pool.state == ()


async def test_what_could_not_be_made_says_why(autojump_clock, tmp_path):
    factory = Factory(fails=True)
    async with opened(tmp_path, factory) as pool:
        await use(pool, Purpose("a"))
        assert pool.state[0].trouble == "not today"
        assert await leased(pool, Purpose("a")) is None


async def test_at_the_end_nothing_is_kept(autojump_clock, tmp_path):
    factory = Factory()
    async with opened(tmp_path, factory) as pool:
        await use(pool, Purpose("a"))
    assert factory.disposed == factory.made
    assert (tmp_path / "me.prewarm").read_text() == "0"


async def test_what_was_made_otherwise_is_leased_first(autojump_clock, tmp_path):
    factory = Factory()
    async with opened(tmp_path, factory) as pool:
        thing = Thing(Purpose("a"), trio.current_time())
        pool.put(Purpose("a"), thing)
        assert await leased(pool, Purpose("a")) is thing


@pytest.mark.parametrize(
    ("limits", "kept"),
    [
        (PoolLimits(uses_min=1, idle_min=2, idle_max=2, total_max=3), {"new": 2, "old": 1}),
        (PoolLimits(uses_min=1, idle_min=2, idle_max=2, total_max=9), {"new": 2, "old": 2}),
        (PoolLimits(idle_min=0, idle_max=0), {"new": 0, "old": 0}),
    ],
)
async def test_as_many_are_kept_as_the_limits_say(autojump_clock, tmp_path, limits, kept):
    factory = Factory()
    async with opened(tmp_path, factory, limits=limits) as pool:
        await use(pool, Purpose("old"))
        await use(pool, Purpose("new"))
        await trio.sleep(LOOK_S)
        assert {state.label: state.idle for state in pool.state} == kept
