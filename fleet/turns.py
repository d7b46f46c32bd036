"""The order in which runs are sent: owners alternate by weight, within their quotas and a window.

One rule: the next owner is the one whose runs, including active ones, took the least time with the
engine for its weight. An owner without a turn for a while returns level with the others: it claims
nothing for that time, and the others claim nothing from it.
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
"""When to retry if nothing of an owner was sent yet."""


@dataclass(frozen=True, slots=True)
class Quota:
    """The share and the limits of an owner; None means unlimited."""

    weight: float = 1.0  # the share compared with other owners
    running: int | None = None  # runs with the engine
    queued: int = 10_000  # runs that wait for the engine
    cpu_s_a_day: float | None = None  # by UTC, charged at a run's end: running ones may exceed it

    def __post_init__(self) -> None:
        """Refuse values that would stop an owner, or the others, permanently.

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
    running: dict[str, float] = field(default_factory=dict)  # each with its time of sending
    sent_sum_s: float = 0.0  # of those times
    used_s: float = 0.0  # with the engine, of runs that ended; raised when the owner returns

    def share(self, now_s: float) -> float:
        """Return its time with the engine, divided by its weight."""
        under_way_s = len(self.running) * now_s - self.sent_sum_s
        return (self.used_s + under_way_s) / self.quota.weight

    def raise_to(self, share: float, now_s: float) -> None:
        """Raise its share so that it claims nothing from before."""
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
    """The runs that wait and that are with the engine, by owner. It reads no clock: `now_s` is in
    seconds since the epoch. A caller that adds or removes a run must then call `move_on`."""

    def __init__(
        self, at_once: int, quotas: Mapping[str, Quota] | None = None, usual: Quota | None = None
    ) -> None:
        """Allow up to `at_once` runs with the engine; `usual` is for owners without a quota."""
        self._at_once = at_once
        self._quotas = quotas or {}
        self._usual = usual or Quota()
        self._owners: dict[str, _Owner] = {}
        self._runs: dict[str, tuple[str, trio.Event]] = {}  # owner, and its turn
        self._running = 0
        self._level = 0.0  # the share of the last turn
        self._day = 0
        self._cpu_s: dict[str, float] = {}  # used on that day

    def waiting(self) -> dict[str, int]:
        """Return how many runs wait, by owner."""
        return {name: len(one.waiting) for name, one in self._owners.items() if one.waiting}

    def running(self) -> dict[str, int]:
        """Return how many runs are with the engine, by owner."""
        return {name: len(one.running) for name, one in self._owners.items() if one.running}

    def add(self, run: str, owner: str, now_s: float) -> None:
        """Add a run to the end of its owner's queue."""
        noted = self._note(run, owner)
        if not noted.waiting:
            noted.raise_to(self._level_beside(owner, now_s), now_s)
        noted.waiting.append(run)

    def join(self, run: str, owner: str, now_s: float) -> None:
        """Count a run that another front had sent, even if the window is full."""
        self._note(run, owner).send(run, now_s)
        self._running += 1
        self._runs[run][1].set()

    async def wait(self, run: str) -> None:
        """Wait until it is a run's turn.

        Raises:
            KeyError: it neither waits nor is with the engine.
        """
        await self._runs[run][1].wait()

    def move_on(self, now_s: float) -> None:
        """Give turns to as many runs as may be with the engine."""
        while self.take(now_s) is not None:
            pass

    def take(self, now_s: float) -> str | None:
        """Return the run to send now, which is with the engine afterwards; None if none may go.

        The time is proportional to the owners that have runs.
        """
        if self._running >= self._at_once:
            return None
        chosen: _Owner | None = None
        least = (math.inf, math.inf)
        for name, owner in list(self._owners.items()):
            if self._may_send(name, owner, now_s):
                # Of several level owners, choose the one with the fewest active runs: otherwise one
                # would fill the window.
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
        """Remove a run that waits, or that has ended with this CPU time."""
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
        """Count CPU time against an owner's day; after a start, the journal's."""
        self._turn_day(now_s)
        self._cpu_s[owner] = self._cpu_s.get(owner, 0.0) + cpu_s

    def send_again(self, run: str, now_s: float) -> None:
        """Put a run that the engine lost at the front of its owner's queue.

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
        """Return the least share of the others, except those that their own quota holds back."""
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
        if day > self._day:  # a clock that is set back starts no second day
            self._day = day
            self._cpu_s.clear()


def estimate_retry_s(sent_s: Sequence[float], now_s: float) -> float:
    """Return when an owner's full queue should have room, in seconds from now.

    `sent_s` are the times of its last sendings. The result is their mean distance up to now, so a
    queue that does not move is tried less and less often.
    """
    if not sent_s:
        return RETRY_S_UNKNOWN
    mean_s = (now_s - min(sent_s)) / len(sent_s)
    return min(RETRY_S_MAX, max(RETRY_S_MIN, mean_s))
