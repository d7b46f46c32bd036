"""The supervisor: pid 1 of a cell (tier A), a subreaper (tier B). Runs, watches, reaps, ends."""

from __future__ import annotations

import os
import select
import signal
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .confine import Confinement, Line, enter_program
from .kernel import StepError
from .population import END_S_MAX, Population
from .victims import score


@dataclass(frozen=True, slots=True)
class Launched:
    """A process on its way to become a program. On the line it says why it could not."""

    pid: int
    line: socket.socket
    waits: bool  # for a word on the line

    def arrive(self) -> int:
        """The pid, once the process has become the program.

        Raises:
            StepError: it could not.
        """
        with self.line:
            if self.waits:
                self.line.send(b"g")
            failure = self.line.recv(4096)
        if failure:
            raise StepError(failure.decode(errors="replace"))
        return self.pid


@dataclass(frozen=True, slots=True)
class Ahead:
    """What lives already when a run begins: the process of its first step."""

    population: Population
    pid: int


class Supervisor:
    """One run: its steps one after the other, and the limits that no kernel mechanism sums."""

    def __init__(
        self,
        control: socket.socket,
        run: dict[str, Any],
        confinement: Confinement,
        stdio: Sequence[int],
        ahead: Ahead | None = None,
    ) -> None:
        self._control = control
        self._run = run
        self._confinement = confinement
        self._stdio = tuple(stdio)
        self.population = ahead.population if ahead else Population()
        self.reason: str | None = None  # why the run was ended from here
        self._first = ahead.pid if ahead else 0

    def run_steps(self) -> tuple[str, int]:
        """(phase, wait status) of the step that decided the run.

        Raises:
            StepError: a program could not be started or not be ended.
        """
        steps = self._run["steps"]
        for step in steps:
            last = step is steps[-1]
            main = self._first or start(step, self._run, self._confinement, self._stdio, last=last)
            self._first = 0  # only the first step can be there already
            status = self._watch(main)
            if last or status != 0 or self.reason:
                return step["phase"], status
        raise StepError("a run without steps")

    def _watch(self, main: int) -> int:
        """Until the step's process is reaped, of itself or told to end: its wait status."""
        population = self.population
        listening = not self.reason
        if listening:
            population.poller.register(self._control, select.POLLIN)
        deadline = None
        while True:
            if population.wait():
                self._control.recv(64)  # an order or the server's end: both mean stop
                self.reason = self.reason or "asked"
            ended = dict(population.reap())
            self.reason = self.reason or exceeded(population, self._run)
            if self.reason and listening:
                population.poller.unregister(self._control)
                listening = False
            if main in ended:
                break
            if self.reason:
                population.signal_all(signal.SIGKILL)
                deadline = deadline or time.monotonic() + END_S_MAX
                if time.monotonic() > deadline:
                    raise StepError("the program could not be ended")
        if listening:
            population.poller.unregister(self._control)
        return ended[main]


def start(
    step: dict[str, Any],
    run: dict[str, Any],
    confinement: Confinement,
    stdio: Sequence[int],
    *,
    last: bool,
) -> int:
    """The pid of a step's process, once it has become the program.

    Raises:
        StepError: the program could not be started.
    """
    return launch(step, run, confinement, stdio, last=last).arrive()


def launch(  # noqa: PLR0913 - as `start`
    step: dict[str, Any],
    run: dict[str, Any],
    confinement: Confinement,
    stdio: Sequence[int],
    *,
    last: bool,
    waits: bool = False,
) -> Launched:
    """A step's process, which takes on its confinement and then `waits` for a word, or doesn't."""
    ours, theirs = socket.socketpair()
    if not last:  # a compiler reads nothing, and all it says is diagnosis
        stdio = (os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC), stdio[2], stdio[2])
    with score.raised():
        pid = os.fork()
        if pid == 0:
            enter_program(step["argv"], run, confinement, stdio, Line(theirs.fileno(), waits))
    theirs.close()
    if not last:
        os.close(stdio[0])
    return Launched(pid, ours, waits)


def exceeded(population: Population, run: dict[str, Any]) -> str | None:
    """The limit of a run that its whole tree has passed, looked at once in a tick."""
    sample = population.sample()
    if sample is None:
        return None
    cpu_s, resident = sample
    if cpu_s > run["cpu_s"]:
        return "cpu"
    return "memory" if run["memory_bytes"] and resident > run["memory_bytes"] else None


def outcome(phase: str, status: int) -> dict[str, Any]:
    """The end of a step's process as its report gives it."""
    return {
        "phase": phase,
        "exit_code": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
        "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
    }
