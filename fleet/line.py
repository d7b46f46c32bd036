"""The runs of a front in line: each is told when its turn has come."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import trio

from fleet.sent_run import SentRun
from fleet.turns import Quota, Turns


class Line:
    """Runs that wait and that are with the engine, over `Turns`."""

    def __init__(self, turns: Turns, clock: Callable[[], float] = time.time) -> None:
        self._turns = turns
        self._clock = clock
        self._runs: dict[str, SentRun] = {}

    @property
    def runs(self) -> Mapping[str, SentRun]:
        """All of them, by id."""
        return self._runs

    def quota(self, owner: str) -> Quota:
        """What an owner may have."""
        return self._turns.quota(owner)

    def charge(self, owner: str, cpu_s: float) -> None:
        """Count processor's time against an owner's day."""
        self._turns.charge(owner, self._clock(), cpu_s)

    @property
    def waiting(self) -> dict[str, int]:
        """How many wait, by owner."""
        return self._turns.waiting()

    @property
    def running(self) -> dict[str, int]:
        """How many are with the engine, by owner."""
        return self._turns.running()

    def add(self, run: SentRun) -> None:
        """Have a run wait behind those of its owner."""
        self._runs[run.id] = run
        self._turns.add(run.id, run.order.owner, self._clock())
        self.move_on()

    def join(self, run: SentRun) -> None:
        """Take a run that is with the engine already, since another front sent it."""
        self._runs[run.id] = run
        self._turns.join(run.id, run.order.owner, self._clock())
        run.turn.set()

    def send_again(self, run: SentRun) -> None:
        """Have a run that was lost wait again, before the others of its owner."""
        run.turn = trio.Event()
        self._turns.send_again(run.id, self._clock())
        self.move_on()

    def leave(self, run: SentRun, cpu_s: float = 0.0) -> None:
        """Let a run go that has ended, or is given up, with the processor's time that it took."""
        if self._runs.pop(run.id, None) is None:
            return
        if not self._turns.withdraw(run.id):
            self._turns.end(run.id, self._clock(), cpu_s)
        self.move_on()

    def move_on(self) -> None:
        """Tell the next, as many as may be with the engine."""
        while (run_id := self._turns.take(self._clock())) is not None:
            self._runs[run_id].turn.set()
