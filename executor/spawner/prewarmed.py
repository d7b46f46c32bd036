"""A program made ready ahead of its run: its process exists, confined, and waits.

Either just short of exec, for the supervisor's word; or started, because it takes long to start:
then it has opened a FIFO, its gate, and reads from it. Where the gate stands in place of the
program's own source, that is what it reads; else which variables of its environment to change.
"""

from __future__ import annotations

import os
import select
import shutil
import socket
import time
from collections.abc import Callable, Sequence

from . import tree
from .confine import Confinement
from .kernel import StepError
from .messages import Description, RunDescription
from .notices import Notices
from .population import Population
from .supervisor import Launched, PrewarmedRun, Supervisor, launch

GATE_S_MAX = 30.0
TICK_S = 0.003

Confine = Callable[[RunDescription], Confinement]


class PrewarmedProgram:
    """A program that waits for its run."""

    def __init__(
        self,
        run: Description[RunDescription],
        stdio: Sequence[int],
        confine: Confine,
        notices: Notices,
    ) -> None:
        """Start it.

        Raises:
            StepError, OSError: it could not be started, or does not come to wait.
        """
        self.stdio = stdio
        self._confine = confine
        self._prewarm = run.data.get("prewarm")
        self._population = Population()
        self._notices = notices
        self._exits = False
        tree.place_files(run)
        if self._prewarm:
            os.makedirs(os.path.dirname(self._prewarm["gate"]), exist_ok=True)
            os.mkfifo(self._prewarm["gate"], 0o600)
        steps = run.data["steps"]
        self._launched: Launched = launch(
            *(steps[0], run.data, confine(run.data), stdio, notices),
            last=len(steps) == 1,
            waits=self._prewarm is None,
        )
        self._gate = -1
        if self._prewarm:
            self._launched.arrive()
            self._gate = self._open_gate(self._prewarm["gate"])
            for path in (self._prewarm["gate"], *self._prewarm["only_before"]):
                _remove(path)  # only the start needed them
            self._population.count_anew()

    def release(self, control: socket.socket, run: Description[RunDescription]) -> Supervisor:
        """Put the run's files in place; the supervisor of what it is from now on."""
        tree.place_files(run)
        self._notices.refused.begin()
        return self._supervisor(control, run)

    def attend(self, control: socket.socket) -> None:
        """Serve what waits until the server says something."""
        ready: list[int] = []
        while control.fileno() not in ready:
            ready, _, _ = select.select([control.fileno(), self._notices.fd], [], [])
            self._serve()

    def go(self, run: Description[RunDescription]) -> None:
        """Let it go: everything else is done.

        Raises:
            StepError: it could not become the program.
        """
        if self._prewarm is None:
            self._launched.arrive()
            return
        message = self._prewarm["environment"].encode()
        for path, _, *blob in run.data["files"]:
            if path == self._prewarm["gate"]:
                message = run.blob((blob[0], blob[1]))
        _write_all(self._gate, message)

    def resident_bytes(self) -> int:
        """The memory of what waits."""
        return self._population.measure()[1]

    def _open_gate(self, gate: str) -> int:
        """The writing end, once the program has the other open."""
        deadline = time.monotonic() + GATE_S_MAX
        while time.monotonic() < deadline:
            if not self.is_alive():
                raise StepError("the interpreter ended instead of waiting")
            try:
                return os.open(gate, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            except OSError:  # nobody reads there yet
                select.select([self._notices.fd], [], [], TICK_S)
        raise StepError(f"the interpreter did not come to wait within {GATE_S_MAX:g} s")

    def is_alive(self) -> bool:
        """Whether it waits still. What it has started to get there may end."""
        self._serve()
        ended = os.waitid(os.P_PID, self._launched.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return not self._exits and ended is None

    def _serve(self) -> None:
        if self._notices.serve(self._launched.pid) is not None:
            self._exits = True  # and is told of that just once

    def _supervisor(self, control: socket.socket, run: Description[RunDescription]) -> Supervisor:
        prewarmed = PrewarmedRun(self._notices, self._population, self._launched)
        return Supervisor(control, run.data, self._confine(run.data), self.stdio, prewarmed)


def _remove(path: str) -> None:
    if os.path.isdir(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)


def _write_all(fd: int, content: bytes) -> None:
    """All of it, as fast as it is read; a reader that has ended needs no more."""
    os.set_blocking(fd, True)
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(fd, rest) :]
    except BrokenPipeError:
        return
    finally:
        os.close(fd)
