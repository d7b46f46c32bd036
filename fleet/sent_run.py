"""A run that is on its way to a worker, or with one."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import trio

from executor.engine.box import Meter
from executor.engine.engine import Completed, OnOutput
from executor.model import Isolation, Limits, Result, Status, Stream
from executor.project.view.record import Record
from fleet.model import Order


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
    on_output: OnOutput | None = None  # gets what it printed, at its end
    is_left: bool = False
    is_submitted: bool = False  # and the engine has not lost it
    losses: int = 0  # by the engine or a worker
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
    def elapsed_s(self) -> float:
        """How long it takes by now, with waiting for its turn."""
        return time.monotonic() - self.started_at

    def stream(self, name: str) -> Stream:
        """Nothing: what a run elsewhere prints comes at its end."""
        return Stream()

    def end(self, status: Status, message: str) -> Completed:
        """Make its end where it has no outcome of its own."""
        end = Result(status, message=message, profile=self.profile, verdict=self.order.verdict)
        return Completed(end)

    async def stop(self, reason: Status) -> None:
        """Have it ended; the first reason stands."""
        self.stopped = self.stopped or reason
        self.scope.cancel()
