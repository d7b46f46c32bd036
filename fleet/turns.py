"""Whose run is sent next: owners in turn by weight, within their quotas and a window.

One rule: the owner comes next whose runs took the least time with the engine for its weight, those
under way included. An owner that could have no turn for a while returns level with the others: it
claims nothing for that time, and the others claim nothing from it.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import trio

DAY_S: Final = 86_400

RETRY_S_MIN: Final = 1.0
RETRY_S_MAX: Final = 300.0
RETRY_S_UNKNOWN: Final = 10.0
"""When to try again if nothing of an owner was sent yet."""


@dataclass(frozen=True, slots=True)
class Quota:
    """The share and the ceilings of an owner; None is no ceiling."""

    weight: float = 1.0  # the share beside others
    running: int | None = None  # runs with the engine
    queued: int = 10_000  # runs that wait for the engine
    cpu_s_a_day: float | None = None  # by UTC, charged at a run's end: running ones may exceed it

    def __post_init__(self) -> None:
        """Refuse what would stop an owner, or the others, for good.

        Raises:
            ValueError: a number is not positive, or not finite.
        """
        for name in ("weight", "running", "queued", "cpu_s_a_day"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise ValueError(f"{name} must be a positive, finite number, not {value!r}")


@dataclass(slots=True)
class _Owner:
    quota: Quota
    waiting: deque[str] = field(default_factory=deque)
    running: dict[str, float] = field(default_factory=dict)  # each with when it was sent
    sent_sum_s: float = 0.0  # of those times
    used_s: float = 0.0  # with the engine, by runs that ended; raised where it returns

    def share(self, now_s: float) -> float:
        """Its time with the engine for its weight."""
        under_way_s = len(self.running) * now_s - self.sent_sum_s
        return (self.used_s + under_way_s) / self.quota.weight

    def raise_to(self, share: float, now_s: float) -> None:
        """Have it claim nothing from before."""
        behind = share - self.share(now_s)
        if behind > 0:
            self.used_s += behind * self.quota.weight

    def send(self, run: str, now_s: float) -> None:
        self.running[run] = now_s
        self.sent_sum_s += now_s

    def take_back(self, run: str, now_s: float) -> None:
        sent_s = self.running.pop(run)
        self.sent_sum_s = self.sent_sum_s - sent_s if self.running else 0.0
        self.used_s += now_s - sent_s


class Turns:
    """The runs that wait and that are with the engine, by owner. It looks at no clock: `now_s` is
    in seconds since the epoch. Who adds a run, or lets one go, has the others `move_on`."""

    def __init__(
        self, at_once: int, quotas: Mapping[str, Quota] | None = None, usual: Quota | None = None
    ) -> None:
        """Have at most `at_once` runs with the engine; `usual` is for owners without a quota."""
        self._at_once = at_once
        self._quotas = quotas or {}
        self._usual = usual or Quota()
        self._owners: dict[str, _Owner] = {}
        self._runs: dict[str, tuple[str, trio.Event]] = {}  # owner, and its turn
        self._running = 0
        self._level = 0.0  # the share at which the last turn was had
        self._day = 0
        self._cpu_s: dict[str, float] = {}  # used on that day

    def waiting(self) -> dict[str, int]:
        """Return how many runs wait, by owner."""
        return {name: len(one.waiting) for name, one in self._owners.items() if one.waiting}

    def running(self) -> dict[str, int]:
        """Return how many runs are with the engine, by owner."""
        return {name: len(one.running) for name, one in self._owners.items() if one.running}

    def add(self, run: str, owner: str, now_s: float) -> None:
        """Have a run wait behind those of its owner."""
        noted = self._note(run, owner)
        if not noted.waiting:
            noted.raise_to(self._level_beside(owner, now_s), now_s)
        noted.waiting.append(run)

    def join(self, run: str, owner: str, now_s: float) -> None:
        """Count a run that another front had sent, beyond the window if that is full."""
        self._note(run, owner).send(run, now_s)
        self._running += 1
        self._runs[run][1].set()

    async def wait(self, run: str) -> None:
        """Wait until a run's turn has come.

        Raises:
            KeyError: it neither waits nor is with the engine.
        """
        await self._runs[run][1].wait()

    def move_on(self, now_s: float) -> None:
        """Give as many their turns as may be with the engine."""
        while self.take(now_s) is not None:
            pass

    def take(self, now_s: float) -> str | None:
        """Return the run to send now, which is with the engine from then on; None if none may be.

        It takes time in proportion to the owners that have runs.
        """
        if self._running >= self._at_once:
            return None
        chosen: _Owner | None = None
        least = (math.inf, math.inf)
        for name, owner in list(self._owners.items()):
            if self._may_send(name, owner, now_s):
                # Of several that are level the one with the fewest under way: else one had all
                # the window.
                rank = (owner.share(now_s), len(owner.running) / owner.quota.weight)
                if rank < least:
                    chosen, least = owner, rank
            elif owner.waiting or owner.running:
                owner.raise_to(self._level, now_s)
            else:
                del self._owners[name]
        if chosen is None:
            return None
        self._level = max(self._level, least[0])
        run = chosen.waiting.popleft()
        chosen.send(run, now_s)
        self._running += 1
        self._runs[run][1].set()
        return run

    def leave(self, run: str, now_s: float, cpu_s: float = 0.0) -> None:
        """Let a run go that waits, or has ended with the processor's time that it took."""
        if run not in self._runs:
            return
        name, _ = self._runs.pop(run)
        owner = self._owners[name]
        if run in owner.running:
            owner.take_back(run, now_s)
            self._running -= 1
            self.charge(name, now_s, cpu_s)
        else:
            owner.waiting.remove(run)

    def charge(self, owner: str, now_s: float, cpu_s: float) -> None:
        """Count processor's time against an owner's day; after a start, what the journal has."""
        self._turn_day(now_s)
        self._cpu_s[owner] = self._cpu_s.get(owner, 0.0) + cpu_s

    def send_again(self, run: str, now_s: float) -> None:
        """Have a run that the engine lost wait again, before all others of its owner.

        Raises:
            KeyError: it is not with the engine.
        """
        name, _ = self._runs[run]
        owner = self._owners[name]
        owner.take_back(run, now_s)
        self._runs[run] = (name, trio.Event())
        self._running -= 1
        owner.waiting.appendleft(run)

    def _note(self, run: str, owner: str) -> _Owner:
        assert run not in self._runs, "a run has one turn"
        self._runs[run] = (owner, trio.Event())
        if owner not in self._owners:
            self._owners[owner] = _Owner(self._quotas.get(owner, self._usual))
        return self._owners[owner]

    def _level_beside(self, owner: str, now_s: float) -> float:
        """Return the least share of the others, but for those that their own quota holds back."""
        shares = (
            one.share(now_s)
            for name, one in self._owners.items()
            if name != owner
            and (self._may_send(name, one, now_s) or (one.running and not one.waiting))
        )
        return max(self._level, min(shares, default=0.0))

    def _may_send(self, name: str, owner: _Owner, now_s: float) -> bool:
        quota = owner.quota
        if not owner.waiting or (quota.running is not None and len(owner.running) >= quota.running):
            return False
        self._turn_day(now_s)
        return quota.cpu_s_a_day is None or self._cpu_s.get(name, 0.0) < quota.cpu_s_a_day

    def _turn_day(self, now_s: float) -> None:
        day = int(now_s // DAY_S)
        if day > self._day:  # a clock that is set back gives nobody a second day
            self._day = day
            self._cpu_s.clear()


def estimate_retry_s(sent_s: Sequence[float], now_s: float) -> float:
    """Return when one of an owner's full queue should find room, in seconds from now.

    `sent_s` are the times of its last sendings. It is their mean distance, up to now, so that a
    queue that stands is tried less and less often.
    """
    if not sent_s:
        return RETRY_S_UNKNOWN
    mean_s = (now_s - min(sent_s)) / len(sent_s)
    return min(RETRY_S_MAX, max(RETRY_S_MIN, mean_s))
