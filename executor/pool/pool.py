"""A pool of single-use members made ahead, by purpose, within a budget and the machine's room.

The number of members of a purpose follows its recent demand. Members are made while the server is
not busy. They are evicted when they are old, when memory or descriptors are short, or when nobody
requests their purpose any more.
"""

from __future__ import annotations

import os
import resource
import sys
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import takewhile
from operator import attrgetter
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import trio

from executor.instance.control import PrewarmReport
from executor.model import SandboxError

MEMORY = Path("/proc/meminfo")
# See Documentation/accounting/psi.rst of the kernel; not every kernel has it.
STALLS = Path("/proc/pressure/memory")
DESCRIPTORS = Path("/proc/self/fd")
AVAILABLE_MIN = 0.08  # of all memory
STALLED_MAX = 10.0  # per cent of the last ten seconds in which some process waited for memory
DESCRIPTORS_MAX = 0.6  # of what this process may have open: the others are for runs


def is_short(memory: Path = MEMORY, stalls: Path = STALLS) -> bool:
    """Return whether memory is short. Unreadable values count as enough: limits hold anyway."""
    return (
        _available(memory) < AVAILABLE_MIN
        or _read_stall(stalls) > STALLED_MAX
        or _descriptors_used(DESCRIPTORS) > DESCRIPTORS_MAX
    )


def free_bytes(memory: Path = MEMORY) -> int:
    """Return the memory available to new processes; unlimited if the kernel reports none."""
    return _sizes(memory).get("MemAvailable:", sys.maxsize >> 10) * 1024


def _sizes(file: Path) -> dict[str, int]:
    """Parse the rows of /proc/meminfo, in KiB."""
    try:
        rows = (line.split() for line in file.read_text().splitlines())
        return {row[0]: int(row[1]) for row in rows if len(row) > 1}
    except (OSError, ValueError):
        return {}


def _available(file: Path) -> float:
    """Return the available share of all memory."""
    sizes = _sizes(file)
    try:
        return sizes["MemAvailable:"] / sizes["MemTotal:"]
    except (KeyError, ZeroDivisionError):
        return 1.0


def _read_stall(file: Path) -> float:
    """Return the stall of the last 10 s, in per cent."""
    try:
        words = file.read_text().split()
        return float(next(word for word in words if word.startswith("avg10=")).partition("=")[2])
    except (OSError, ValueError, StopIteration):
        return 0.0


def _descriptors_used(folder: Path) -> float:
    """Return the used share of the descriptors that this process may have."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return 0.0
    try:
        return len(os.listdir(folder)) / limit
    except OSError:
        return 0.0


AGE_S_MAX = 600.0  # of an idle member, and of a use that still counts as demand
PEAK_S = 60.0  # the number kept is the maximum in use at once within this time
BURST_S = 0.5  # uses that begin within such a time are one burst, as of a batch of commands
BURST_MAX = 64  # of one burst: idle members have descriptors open
MAKING_S_MIN = 0.005  # no making counts as shorter: that bounds how many are made at once
REFILL_S = 1.0  # after a burst, keep as many as can be made in this time, one by one
AT_ONCE_S = 0.05  # members that take less, together, are made at once: most of it is waiting
USES_MAX = 256
PURPOSES_MAX = 64
LOOK_S = 5.0  # between two looks at age and memory
PRESSURE_S = 0.25  # for such a time a look at memory and descriptors holds
RETRY_S = 60.0  # after a member could not be made
GUESS_BYTES = 24 << 20  # of a member before the first of its purpose is measured


class Member(Protocol):
    """A member of a pool."""

    @property
    def bytes(self) -> int:
        """Return the memory that it takes."""

    @property
    def made_at(self) -> float:
        """Return the time when it was made, by trio's clock."""

    @property
    def fresh(self) -> Hashable:
        """Return the state of the host that it shows; a lease requires one such state."""


class Purpose(Protocol):
    """The purpose of members. All members of one key are interchangeable."""

    @property
    def key(self) -> Hashable: ...

    @property
    def label(self) -> str: ...


Claim = Callable[[int], bool]
"""Returns whether a pool may hold so many bytes in all from now on."""
M = TypeVar("M", bound=Member)
P = TypeVar("P", bound=Purpose)


@dataclass(frozen=True, slots=True)
class PoolLimits:
    """Limits on the number of members. A purpose used once may never be used again."""

    uses_min: int = 2  # members are kept from this use of a purpose on
    idle_min: int = 1  # of a purpose, at least
    idle_max: int = USES_MAX  # of a purpose, at most
    total_max: int = USES_MAX * PURPOSES_MAX  # of all purposes, at most


_Use = tuple[float, int, int]
"""When a use began, how many there were then at once, and in the burst so far."""


@dataclass(slots=True, eq=False)
class _Shelf(Generic[P, M]):
    """The idle members of one purpose, and the demand for them."""

    purpose: P
    idle: list[M] = field(default_factory=list)
    uses: deque[_Use] = field(default_factory=lambda: deque(maxlen=USES_MAX))
    last_used_at: float = float("-inf")
    in_use: int = 0
    making: int = 0
    awaited: int = 0  # how many of those being made a lease waits for
    arrived: trio.Event = field(default_factory=trio.Event)
    bytes_each: int = GUESS_BYTES
    making_s: float = REFILL_S
    not_before: float = 0.0
    hits: int = 0
    misses: int = 0
    trouble: str = ""

    def begin_use(self, now: float) -> None:
        self.in_use, self.last_used_at = self.in_use + 1, now
        before = takewhile(lambda use: use[0] > now - BURST_S, reversed(self.uses))
        self.uses.append((now, self.in_use, 1 + sum(1 for _ in before)))

    def target(self, now: float, limits: PoolLimits) -> int:
        """Return how many should be idle."""
        recent = [use for use in self.uses if use[0] > now - AGE_S_MAX]
        if len(recent) < limits.uses_min or now < self.not_before:
            return 0
        peak = [use for use in recent if use[0] > now - PEAK_S]
        makeable = min(BURST_MAX, int(REFILL_S / self.making_s))
        in_burst = min(makeable, max((in_burst for _, _, in_burst in peak), default=0))
        at_once = max((at_once for _, at_once, _ in peak), default=0)
        return min(limits.idle_max, max(limits.idle_min, in_burst, at_once))


_by_last_use = attrgetter("last_used_at")


class Pool(Generic[P, M]):
    """A pool with a factory: `make`, `dispose`, and `is_busy`, during which it makes nothing."""

    def __init__(
        self,
        make: Callable[[P], Awaitable[M]],
        dispose: Callable[[M], None],
        is_busy: Callable[[], bool],
        claim: Claim,
        limits: PoolLimits | None = None,
    ) -> None:
        self._make = make
        self._dispose = dispose
        self._is_busy = is_busy
        self._claim = claim
        self._limits = limits or PoolLimits()
        self._shelves: dict[Hashable, _Shelf[P, M]] = {}
        self._changed = trio.Event()
        self._pressure_seen = (float("-inf"), False)  # when, and whether something was short

    @property
    def state(self) -> tuple[PrewarmReport, ...]:
        """Return all stored purposes, the one used last first."""
        shelves = sorted(self._shelves.values(), key=_by_last_use, reverse=True)
        return tuple(
            PrewarmReport(
                "",
                shelf.purpose.label,
                len(shelf.idle),
                sum(member.bytes for member in shelf.idle),
                shelf.hits,
                shelf.misses,
                shelf.trouble,
            )
            for shelf in shelves
        )

    @asynccontextmanager
    async def lease(self, purpose: P, fresh: Hashable) -> AsyncIterator[M | None]:
        """Lease an idle member whose state equals `fresh` for one use; yield None if none is idle.

        The use counts as demand in either case, and members for the next are made after it.
        """
        shelf = self._shelves.setdefault(purpose.key, _Shelf(purpose))
        shelf.begin_use(trio.current_time())
        try:
            yield await self._take(shelf, fresh)
        finally:
            shelf.in_use -= 1
            self._changed.set()

    def put(self, purpose: P, member: M) -> None:
        """Keep a member that was made otherwise; it counts as one use of its purpose."""
        shelf = self._shelves.setdefault(purpose.key, _Shelf(purpose))
        shelf.begin_use(trio.current_time())
        shelf.in_use -= 1
        shelf.idle.append(member)
        self._changed.set()

    async def serve(self) -> None:
        """Make and evict members until cancelled; then dispose of all."""
        try:
            async with trio.open_nursery() as nursery:
                while True:
                    self._changed = trio.Event()
                    self._evict()
                    for shelf in self._shelves_to_fill():
                        shelf.making += 1
                        nursery.start_soon(self._prewarm, shelf)
                    with trio.move_on_after(LOOK_S if self._shelves else float("inf")):
                        await self._changed.wait()
        finally:
            self._empty()

    async def _take(self, shelf: _Shelf[P, M], fresh: Hashable) -> M | None:
        """Take an idle member, or the next one that is being made."""
        while True:
            while shelf.idle:
                member = shelf.idle.pop()
                if member.fresh == fresh:
                    shelf.hits += 1
                    return member
                self._dispose(member)
            if shelf.making <= shelf.awaited:
                shelf.misses += 1
                return None
            shelf.awaited += 1
            try:
                await shelf.arrived.wait()
            finally:
                shelf.awaited -= 1

    def _shelves_to_fill(self) -> Iterator[_Shelf[P, M]]:
        """Yield one shelf for each member to make now; the purpose used last comes first."""
        now = trio.current_time()
        if self._is_busy():
            return
        being_made_s = sum(shelf.making * shelf.making_s for shelf in self._shelves.values())
        for shelf in sorted(self._shelves.values(), key=_by_last_use, reverse=True):
            for _ in range(len(shelf.idle) + shelf.making, shelf.target(now, self._limits)):
                if being_made_s and being_made_s + shelf.making_s > AT_ONCE_S:
                    return
                if not self._make_room(shelf):
                    break
                being_made_s += shelf.making_s
                yield shelf

    def _make_room(self, wanted: _Shelf[P, M]) -> bool:
        """Return whether one more may be made, after evicting one used earlier if necessary."""
        if self._is_short():
            return False
        others = sorted(self._shelves.values(), key=_by_last_use)
        while not self._has_room(wanted.bytes_each):
            older = (s for s in others if s.idle and s.last_used_at < wanted.last_used_at)
            oldest = next(older, None)
            if oldest is None:
                return False
            self._dispose(oldest.idle.pop(0))
        return True

    def _has_room(self, further: int) -> bool:
        shelves = self._shelves.values()
        if sum(len(shelf.idle) + shelf.making for shelf in shelves) >= self._limits.total_max:
            return False
        coming = sum(shelf.making * shelf.bytes_each for shelf in shelves)
        return self._claim(self._bytes() + coming + further)

    async def _prewarm(self, shelf: _Shelf[P, M]) -> None:
        began_at = trio.current_time()
        try:
            member = await self._make(shelf.purpose)
        except (SandboxError, OSError) as error:
            shelf.trouble = str(error)
            shelf.not_before = trio.current_time() + RETRY_S
        else:
            shelf.trouble = ""
            shelf.bytes_each = member.bytes
            shelf.making_s = min(shelf.making_s, max(trio.current_time() - began_at, MAKING_S_MIN))
            shelf.idle.append(member)
            self._claim(self._bytes())
        finally:
            shelf.making -= 1
            shelf.arrived.set()
            shelf.arrived = trio.Event()
            self._changed.set()

    def _evict(self) -> None:
        """Dispose of old and unwanted members, and of all if memory or descriptors are short."""
        now = trio.current_time()
        short = any(shelf.idle for shelf in self._shelves.values()) and self._is_short()
        for key, shelf in list(self._shelves.items()):
            for member in [one for one in shelf.idle if one.made_at < now - AGE_S_MAX]:
                shelf.idle.remove(member)
                self._dispose(member)
            target = 0 if short else shelf.target(now, self._limits)
            while len(shelf.idle) > target:
                self._dispose(shelf.idle.pop(0))
            if shelf.last_used_at < now - AGE_S_MAX and not (shelf.in_use or shelf.making):
                del self._shelves[key]
        for shelf in sorted(self._shelves.values(), key=_by_last_use)[:-PURPOSES_MAX]:
            if not (shelf.in_use or shelf.making):
                del self._shelves[shelf.purpose.key]
                for member in shelf.idle:
                    self._dispose(member)

    def _is_short(self) -> bool:
        """Return whether the machine's memory, or this process's descriptors, are short."""
        at, short = self._pressure_seen
        if trio.current_time() >= at + PRESSURE_S:
            short = is_short()
            self._pressure_seen = (trio.current_time(), short)
        return short

    def _empty(self) -> None:
        for shelf in self._shelves.values():
            while shelf.idle:
                self._dispose(shelf.idle.pop())
        self._claim(0)

    def _bytes(self) -> int:
        return sum(member.bytes for shelf in self._shelves.values() for member in shelf.idle)
