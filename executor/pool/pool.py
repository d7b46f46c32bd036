"""What is made ahead of its use and serves one use: kept by what it is for, within a budget.

How many of a kind are kept follows its recent use. They are made when nothing else is to be done,
and given up when they grow old, when the machine needs its memory, or when what they show has
changed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Generic, NamedTuple, Protocol, TypeVar

import trio

from executor.errors import SandboxError
from executor.pool import pressure
from executor.pool.budget import Budget

AGE_S_MAX = 600.0  # of what waits, and of a use that still counts
PEAK_S = 60.0  # as many are kept as were wanted at once within such a time
BURST_S = 0.5  # uses that begin within such a time are one burst, as of a batch of commands
BURST_MAX = 64  # of one burst: what waits has descriptors open
MAKING_S_MIN = 0.005  # no making counts as shorter: that bounds how many are made at once
REFILL_S = 1.0  # of a burst as many are kept as can be made in such a time, one by one
AT_ONCE_S = 0.05  # what takes no longer to make, together, is made at once: much of it is waiting
USES_MIN = 2  # what is used once may never be used again
USES_MAX = 256
KINDS_MAX = 64
LOOK_S = 5.0  # between two looks at age and memory
PRESSURE_S = 0.25  # so long holds what was seen of the machine's memory and our descriptors
RETRY_S = 60.0  # after one could not be made
ROUNDS = 24  # of the scheduler, in which an answer comes from the end of its run to its client
GUESS_BYTES = 24 << 20  # what one takes before the first of its kind is measured


class Member(Protocol):
    """One that waits."""

    bytes: int
    made_at: float
    fresh: Hashable  # what it shows, as it was when it was made


class Kind(Protocol):
    """What one is for. All of a key are interchangeable."""

    @property
    def key(self) -> Hashable: ...

    @property
    def label(self) -> str: ...


M = TypeVar("M", bound=Member)
K = TypeVar("K", bound=Kind)


@dataclass(frozen=True, slots=True)
class PoolState:
    """What is kept of one kind, and how often one was there when it was wanted."""

    label: str
    waiting: int
    bytes: int
    hits: int
    misses: int
    trouble: str = ""  # why the last one that was tried could not be made


class _Use(NamedTuple):
    """When one was begun, how many there were then at once, and in the burst so far."""

    at: float
    at_once: int
    in_burst: int


@dataclass(slots=True, eq=False)
class _Stock(Generic[K, M]):
    kind: K
    members: list[M] = field(default_factory=list)
    uses: deque[_Use] = field(default_factory=lambda: deque(maxlen=USES_MAX))
    in_use: int = 0
    making: int = 0
    awaited: int = 0  # how many of those being made somebody waits for
    arrived: trio.Event = field(default_factory=trio.Event)
    bytes_each: int = GUESS_BYTES
    making_s: float = REFILL_S
    not_before: float = 0.0
    hits: int = 0
    misses: int = 0
    trouble: str = ""

    def used_at(self) -> float:
        return self.uses[-1].at if self.uses else float("-inf")

    def begin_use(self, now: float) -> None:
        self.in_use += 1
        before = takewhile(lambda use: use.at > now - BURST_S, reversed(self.uses))
        self.uses.append(_Use(now, self.in_use, 1 + sum(1 for _ in before)))

    def wanted(self, now: float) -> int:
        """How many should wait."""
        recent = [use for use in self.uses if use.at > now - AGE_S_MAX]
        if len(recent) < USES_MIN or now < self.not_before:
            return 0
        peak = [use for use in recent if use.at > now - PEAK_S]
        if not peak:
            return 1
        makeable = min(BURST_MAX, int(REFILL_S / self.making_s))
        in_burst = min(makeable, max(use.in_burst for use in peak))
        return max(in_burst, *(use.at_once for use in peak))


class Pool(Generic[K, M]):
    """`make` and `bury` are the maker's; `is_busy` says that now is no time for making."""

    def __init__(
        self,
        make: Callable[[K], Awaitable[M]],
        bury: Callable[[M], None],
        is_busy: Callable[[], bool],
        budget: Budget,
    ) -> None:
        self._make = make
        self._bury = bury
        self._is_busy = is_busy
        self._budget = budget
        self._stocks: dict[Hashable, _Stock[K, M]] = {}
        self._stir = trio.Event()
        self._pressure_seen = (float("-inf"), False)  # when, and whether something was short

    @property
    def state(self) -> tuple[PoolState, ...]:
        """All kinds that are kept, the one used last first."""
        stocks = sorted(self._stocks.values(), key=_Stock.used_at, reverse=True)
        return tuple(
            PoolState(
                stock.kind.label,
                len(stock.members),
                sum(member.bytes for member in stock.members),
                stock.hits,
                stock.misses,
                stock.trouble,
            )
            for stock in stocks
        )

    async def take(self, kind: K, fresh: Hashable) -> M | None:
        """One that waits and still shows what is `fresh`; None if there is none, or none coming."""
        stock = self._stocks.get(kind.key)
        if stock is None:
            return None
        while True:
            while stock.members:
                member = stock.members.pop()
                if member.fresh == fresh:
                    stock.hits += 1
                    return member
                self._bury(member)
            if stock.making <= stock.awaited:
                stock.misses += 1
                return None
            stock.awaited += 1
            try:
                await stock.arrived.wait()
            finally:
                stock.awaited -= 1

    @contextmanager
    def use(self, kind: K) -> Iterator[None]:
        """While one of this kind is in use, waiting before or not. Afterwards others are made."""
        stock = self._stocks.setdefault(kind.key, _Stock(kind))
        stock.begin_use(trio.current_time())
        try:
            yield
        finally:
            stock.in_use -= 1
            self._stir.set()

    async def tend(self) -> None:
        """Make what is wanted and give up what is not, until cancelled; then give up all."""
        try:
            async with trio.open_nursery() as nursery:
                while True:
                    self._stir = trio.Event()
                    self._give_up()
                    for stock in self._to_fill():
                        stock.making += 1
                        nursery.start_soon(self._fill, stock)
                    with trio.move_on_after(LOOK_S if self._stocks else float("inf")):
                        await self._stir.wait()
                        await _after_what_is_ready()
        finally:
            self._empty()

    def _to_fill(self) -> Iterator[_Stock[K, M]]:
        """What to make now: the kind used last comes first."""
        now = trio.current_time()
        if self._is_busy():
            return
        being_made_s = sum(stock.making * stock.making_s for stock in self._stocks.values())
        for stock in sorted(self._stocks.values(), key=_Stock.used_at, reverse=True):
            for _ in range(len(stock.members) + stock.making, stock.wanted(now)):
                if being_made_s and being_made_s + stock.making_s > AT_ONCE_S:
                    return
                if not self._afford(stock):
                    break
                being_made_s += stock.making_s
                yield stock

    def _afford(self, wanted: _Stock[K, M]) -> bool:
        """Whether there is room for one more, if need be in place of what was used before it."""
        if self._is_short():
            return False
        others = sorted(self._stocks.values(), key=_Stock.used_at)
        coming = sum(stock.making * stock.bytes_each for stock in self._stocks.values())
        while not self._budget.claim(self._bytes() + coming + wanted.bytes_each):
            victim = next((s for s in others if s.members and s.used_at() < wanted.used_at()), None)
            if victim is None:
                return False
            self._bury(victim.members.pop(0))
        return True

    async def _fill(self, stock: _Stock[K, M]) -> None:
        begun_at = trio.current_time()
        try:
            member = await self._make(stock.kind)
        except (SandboxError, OSError) as error:
            stock.trouble = str(error)
            stock.not_before = trio.current_time() + RETRY_S
        else:
            stock.trouble = ""
            stock.bytes_each = member.bytes
            stock.making_s = min(stock.making_s, max(trio.current_time() - begun_at, MAKING_S_MIN))
            stock.members.append(member)
            self._budget.claim(self._bytes())
        finally:
            stock.making -= 1
            stock.arrived.set()
            stock.arrived = trio.Event()
            self._stir.set()

    def _give_up(self) -> None:
        """What is old, what nobody wants any more, and all when memory or descriptors are short."""
        now = trio.current_time()
        short = any(stock.members for stock in self._stocks.values()) and self._is_short()
        for key, stock in list(self._stocks.items()):
            wanted = 0 if short else stock.wanted(now)
            old = [member for member in stock.members if member.made_at < now - AGE_S_MAX]
            for member in old:
                stock.members.remove(member)
                self._bury(member)
            while len(stock.members) > wanted:
                self._bury(stock.members.pop(0))
            if stock.used_at() < now - AGE_S_MAX and not (stock.in_use or stock.making):
                del self._stocks[key]
        for stock in sorted(self._stocks.values(), key=_Stock.used_at)[:-KINDS_MAX]:
            if not (stock.in_use or stock.making):
                self._stocks.pop(stock.kind.key)
                for member in stock.members:
                    self._bury(member)

    def _is_short(self) -> bool:
        """Whether the machine's memory is, or this process's descriptors."""
        at, short = self._pressure_seen
        if trio.current_time() >= at + PRESSURE_S:
            short = pressure.is_short()
            self._pressure_seen = (trio.current_time(), short)
        return short

    def _empty(self) -> None:
        for stock in self._stocks.values():
            while stock.members:
                self._bury(stock.members.pop())
        self._budget.claim(0)

    def _bytes(self) -> int:
        return sum(member.bytes for stock in self._stocks.values() for member in stock.members)


async def _after_what_is_ready() -> None:
    """Let an answer out first that the end of a use has made possible."""
    for _ in range(ROUNDS):
        await trio.lowlevel.checkpoint()
