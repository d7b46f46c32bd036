"""The supervisor: pid 1 of a cell (tier A), a subreaper (tier B). Runs, watches, reaps, ends."""

from __future__ import annotations

import os
import resource
import select
import shutil
import signal
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from . import tree
from .changes import ReportedChanges
from .confine import LISTENERS, Confinement, Line, enter_program
from .kernel import StepError
from .messages import BoxDescription, Description, End, Report, RunDescription, StepMessage
from .population import END_S_MAX, Population
from .proc import score
from .process_calls import Judge, read_judged
from .refusal_counts import read_filter
from .reported_calls import Notices


@dataclass(frozen=True, slots=True)
class Launched:
    """A process about to become a program. If it can't, it writes the reason to the line."""

    pid: int
    line: socket.socket
    waits: bool = False  # for a byte on the line
    judge: Judge | None = None  # for `Population.ask`

    def arrive(self) -> int:
        """Return the pid once the process has become the program.

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


class Supervisor:
    """One run: its steps one after the other, and the limits that no kernel mechanism sums up.

    A prewarmed run already has processes, one of them that of its first step.
    """

    def __init__(  # noqa: PLR0913 - the parts of a run, and those of it that exist already
        self,
        control: socket.socket,
        run: RunDescription,
        confinement: Confinement,
        stdio: Sequence[int],
        notices: Notices,
        *,
        population: Population | None = None,
        launched: Launched | None = None,
    ) -> None:
        self._control = control
        self._run = run
        self._confinement = confinement
        self._stdio = tuple(stdio)
        self.population = population or Population()
        self.notices = notices
        self.population.poller.register(self.notices.fd, select.POLLIN)
        self.reason: str | None = None  # why this supervisor ended the run
        self._first = launched
        self.is_still = False  # whether the kernel is to clean up the rest of the run

    def run_steps(self) -> tuple[str, int]:
        """Run the steps; return the phase and wait status of the last one that ran.

        Raises:
            StepError: a program could not be started or not be ended.
        """
        steps = self._run["steps"]
        for step in steps:
            _, phase, _ = step
            last = step is steps[-1]
            first, self._first = self._first, None  # only the first step can exist already
            launched = first or self._start(step, last=last)
            status = self._watch(launched.pid)
            if last or status != 0 or self.reason:
                return phase, status
        raise StepError("a run without steps")

    def end_all(self) -> None:
        """End every process of the run.

        Raises:
            StepError: one could not be ended.
        """
        if not self.is_still:
            self.population.end_all()

    def _start(self, step: StepMessage, *, last: bool) -> Launched:
        confinement, notices = self._confinement, self.notices
        launched = launch(step, self._run, confinement, self._stdio, notices, last=last)
        self.population.ask(launched.judge)
        launched.arrive()
        return launched

    def _watch(self, main: int) -> int:
        """Wait until the step's process has ended, by itself or ended here; return its status."""
        population = self.population
        listening = not self.reason
        if listening:
            population.poller.register(self._control, select.POLLIN)
        deadline = None
        while True:
            ready = population.wait()
            if self._control.fileno() in ready:
                self._control.recv(64)  # an order or the server's end: both mean stop
                self.reason = self.reason or "asked"
            ended = dict(population.reap())
            self.notices.settle(ended)
            self.reason = self.reason or find_exceeded(population, self._run)
            if self.reason and listening:
                population.poller.unregister(self._control)
                listening = False
            if main not in ended and self.notices.fd in ready:
                ended |= self._find_served(main)
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

    def _find_served(self, main: int) -> dict[int, int]:
        """Return the wait status that the step's process will have, if it is the one exiting."""
        code = self.notices.serve(main)
        if code is None:
            return {}
        self.population.be_still()
        self.is_still = True
        return {main: code << 8}


def read_confinement(cell: Description[BoxDescription], run: RunDescription) -> Confinement:
    """Read the confinement of a run's programs from a cell's description."""
    return Confinement(
        cell.data["access"],
        cell.data["deny_tcp"],
        run["rlimits"],
        cell.blob(cell.data["seccomp"]),
        cell.blob(cell.data["notices"]),
        cell.blob(cell.data["heavy_notices"]),
        read_filter(cell),
        read_judged(cell),
        cell.data.get("scopes_signals", True),
    )


def launch(  # noqa: PLR0913 - all parts of a process
    step: StepMessage,
    run: RunDescription,
    confinement: Confinement,
    stdio: Sequence[int],
    notices: Notices,
    *,
    last: bool,
    waits: bool = False,
) -> Launched:
    """Start a step's process: it applies its confinement; if it `waits`, then for a byte.

    Raises:
        StepError: its calls can't be reported as required.
    """
    ours, theirs = socket.socketpair()
    argv, _, is_heavy = step
    told = confinement.heavy_notices if last and is_heavy else confinement.notices
    if not last:  # a compiler reads no input, and all its output is diagnostics
        stdio = (os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC), stdio[2], stdio[2])
    with score.hold_raised():
        pid = os.fork()
        if pid == 0:
            line = Line(theirs.fileno(), waits, told)
            enter_program(argv, run, confinement, stdio, line)
    theirs.close()
    if not last:
        os.close(stdio[0])
    judged = confinement.judged
    judge = None
    for listener in _listeners(ours) if told or judged else ():
        if judged:
            judge = Judge(listener, judged, notices.refused)
        else:
            notices.listen(listener, confinement)
    return Launched(pid, ours, waits, judge)


def _listeners(line: socket.socket) -> list[int]:
    """Receive one listener, or none if something around the whole cell already listens."""
    message, fds, _, _ = socket.recv_fds(line, 4096, 1, socket.MSG_CMSG_CLOEXEC)
    if message != LISTENERS:
        raise StepError(message.decode(errors="replace") or "the program's process was killed")
    return fds


def find_exceeded(population: Population, run: RunDescription) -> str | None:
    """Return the limit that the whole tree of a run exceeds; checked once per tick."""
    sample = population.sample()
    if sample is None:
        return None
    cpu_s, resident = sample
    if cpu_s > run["cpu_s"]:
        return "cpu"
    if run["memory_bytes"] and resident > run["memory_bytes"]:
        return "memory"
    # The kernel lets its root exceed this one, even without any capability.
    threads_max = dict(run["rlimits"]).get(resource.RLIMIT_NPROC)
    return "processes" if threads_max is not None and population.threads > threads_max else None


def measure(supervisor: Supervisor, changed: ReportedChanges) -> Report:
    """Report a run's changes and resources; the caller adds whether the scratch is full."""
    population = supervisor.population
    return {
        "reason": supervisor.reason,
        "cpu_s": max(0.0, population.cpu_s),  # may be negative: it was counted from a clock tick
        "peak_memory_bytes": population.peak_memory_bytes,
        "peak_processes": population.peak_processes,
        "scratch_full": False,
        "changed": changed.listed,
        "changed_omitted": changed.omitted,
        "refused": supervisor.notices.refused.counts,
        "refused_omitted": supervisor.notices.refused.omitted,
    }


def outcome(phase: str, status: int) -> End:
    """Report the end of a step's process."""
    return {
        "phase": phase,
        "exit_code": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
        "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
    }


# Either just before exec, where it waits for the supervisor's byte; or started, as starting takes
# long: then it has opened a FIFO, its gate, and reads from it. If the gate replaces the program's
# own source, it reads that; otherwise the variables of its environment to change.

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
        """Start the program.

        Raises:
            StepError, OSError: it could not be started, or does not begin to wait.
        """
        self.stdio = stdio
        self._confine = confine
        prewarm = run.data.get("prewarm")
        self._gate_path, only_before, self._environment = prewarm or ("", [], "")
        self._population = Population()
        self._notices = notices
        self._exits = False
        tree.place_files(run)
        if prewarm:
            os.makedirs(os.path.dirname(self._gate_path), exist_ok=True)
            os.mkfifo(self._gate_path, 0o600)
        steps = run.data["steps"]
        self._launched: Launched = launch(
            *(steps[0], run.data, confine(run.data), stdio, notices),
            last=len(steps) == 1,
            waits=prewarm is None,
        )
        self._gate = -1
        if prewarm:
            self._launched.arrive()
            self._gate = self._open_gate(self._gate_path)
            for path in (self._gate_path, *only_before):
                _remove(path)  # only the start needed them
            self._population.reset_counts()

    def release(self, control: socket.socket, run: Description[RunDescription]) -> Supervisor:
        """Put the run's files in place; return the supervisor of the run."""
        tree.place_files(run)
        self._notices.refused.begin()
        return self._supervisor(control, run)

    def attend(self, control: socket.socket) -> None:
        """Serve the waiting program until the server sends a message."""
        ready: list[int] = []
        while control.fileno() not in ready:
            ready, _, _ = select.select([control.fileno(), self._notices.fd], [], [])
            self._serve()

    def go(self, run: Description[RunDescription]) -> None:
        """Start the waiting program: everything else is done.

        Raises:
            StepError: it could not become the program.
        """
        if not self._gate_path:
            self._launched.arrive()
            return
        message = self._environment.encode()
        for path, _, *blob in run.data["files"]:
            if path == self._gate_path:
                message = run.blob((blob[0], blob[1]))
        _write_all(self._gate, message)

    def resident_bytes(self) -> int:
        """Return the memory of the waiting program."""
        return self._population.measure()[1]

    def _open_gate(self, gate: str) -> int:
        """Return the gate's writing end, once the program has opened the other one."""
        deadline = time.monotonic() + GATE_S_MAX
        while time.monotonic() < deadline:
            if not self.is_alive():
                raise StepError("the interpreter ended instead of waiting")
            try:
                return os.open(gate, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            except OSError:  # no reader has opened it yet
                select.select([self._notices.fd], [], [], TICK_S)
        raise StepError(f"the interpreter did not begin to wait within {GATE_S_MAX:g} s")

    def is_alive(self) -> bool:
        """Return whether the program still waits. Processes that its start needed may end."""
        self._serve()
        ended = os.waitid(os.P_PID, self._launched.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return not self._exits and ended is None

    def _serve(self) -> None:
        if self._notices.serve(self._launched.pid) is not None:
            self._exits = True  # its exit is reported only once

    def _supervisor(self, control: socket.socket, run: Description[RunDescription]) -> Supervisor:
        return Supervisor(
            *(control, run.data, self._confine(run.data), self.stdio, self._notices),
            population=self._population,
            launched=self._launched,
        )


def _remove(path: str) -> None:
    if os.path.isdir(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)


def _write_all(fd: int, content: bytes) -> None:
    """Write all of it, as fast as it is read; a reader that has ended needs no more."""
    os.set_blocking(fd, True)
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(fd, rest) :]
    except BrokenPipeError:
        return
    finally:
        os.close(fd)
