"""A run that is on its way to a worker, or with one, and all of them in line."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import trio

from executor.engine.box import Meter
from executor.engine.engine import Completed
from executor.model import Isolation, Limits, Result, Status, Stream
from executor.project.view.record import Record
from fleet.model import Order
from fleet.turns import Turns


def end_without_outcome(
    status: Status, message: str, profile: str, verdict: Mapping[str, Any] | None
) -> Completed:
    """Make the end of a run of which no worker handed anything back."""
    return Completed(Result(status=status, message=message, profile=profile, verdict=verdict))


@dataclass(slots=True)
class SentRun:
    """What a front knows of one run. As a `RunProgress` it can be looked at and stopped, as a
    `ListedRun` be listed.

    `record` is the project as it was, where what the run changes is brought into it, but for what
    is `unseen`: it did not travel. A run that a dead front left `is_left`: nobody waits for it.
    """

    order: Order
    sealed: bytes
    label: str
    record: Record | None = None
    unseen: frozenset[str] = frozenset()
    is_left: bool = False
    is_submitted: bool = False  # and the engine has not lost it
    losses: int = 0  # by the engine or a worker
    turn: trio.Event = field(default_factory=trio.Event)
    scope: trio.CancelScope = field(default_factory=trio.CancelScope)
    stopped: Status | None = None
    place: str = "waits for its turn"
    isolation: Isolation = field(default_factory=lambda: Isolation(""))
    meter: Meter | None = None
    started_at: float = field(default_factory=time.monotonic)

    @property
    def profile(self) -> str:
        """The name of its profile."""
        return self.order.profile.name

    @property
    def limits(self) -> Limits:
        """Those that its worker holds it to."""
        return self.order.limits

    @property
    def output_bytes(self) -> int:
        """Nothing yet: what it prints comes at its end."""
        return 0

    @property
    def id(self) -> str:
        """The run's id, the same at the front, its engine and its worker."""
        return self.order.run_id

    @property
    def was_sent(self) -> bool:
        """Whether an engine has it, or had it."""
        return self.is_submitted or self.losses > 0

    @property
    def elapsed_s(self) -> float:
        """How long it takes by now, with waiting for its turn."""
        return time.monotonic() - self.started_at

    def stream(self, name: str) -> Stream:
        """Nothing: what a run elsewhere prints comes at its end."""
        return Stream()

    def end(self, status: Status, message: str) -> Completed:
        """Make its end where it has no outcome of its own."""
        return end_without_outcome(status, message, self.profile, self.order.verdict)

    async def stop(self, reason: Status) -> None:
        """Have it ended; the first reason stands."""
        self.stopped = self.stopped or reason
        self.scope.cancel()


class Line:
    """Runs that wait and that are with the engine, over `Turns`."""

    def __init__(self, turns: Turns, clock: Callable[[], float] = time.time) -> None:
        self.turns = turns
        self._clock = clock
        self._runs: dict[str, SentRun] = {}

    @property
    def runs(self) -> Mapping[str, SentRun]:
        """All of them, by id."""
        return self._runs

    def add(self, run: SentRun) -> None:
        """Have a run wait behind those of its owner."""
        self._runs[run.id] = run
        self.turns.add(run.id, run.order.owner, self._clock())
        self.move_on()

    def join(self, run: SentRun) -> None:
        """Take a run that is with the engine already, since another front sent it."""
        self._runs[run.id] = run
        self.turns.join(run.id, run.order.owner, self._clock())
        run.turn.set()

    def send_again(self, run: SentRun) -> None:
        """Have a run that was lost wait again, before the others of its owner."""
        run.turn = trio.Event()
        self.turns.send_again(run.id, self._clock())
        self.move_on()

    def leave(self, run: SentRun, cpu_s: float = 0.0) -> None:
        """Let a run go that has ended, or is given up, with the processor's time that it took."""
        if self._runs.pop(run.id, None) is None:
            return
        if not self.turns.withdraw(run.id):
            self.turns.end(run.id, self._clock(), cpu_s)
        self.move_on()

    def move_on(self) -> None:
        """Tell the next, as many as may be with the engine."""
        while (run_id := self.turns.take(self._clock())) is not None:
            self._runs[run_id].turn.set()
