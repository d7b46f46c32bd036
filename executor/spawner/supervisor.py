"""The supervisor: pid 1 of a cell (tier A), a subreaper (tier B). Runs, watches, reaps, ends."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import time
from collections.abc import Sequence
from typing import Any

from .confine import Confinement, enter_program
from .kernel import StepError

TICK_S = 0.1
END_S_MAX = 5.0
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Supervisor:
    """One run: its steps one after the other, and the limits that no kernel mechanism sums."""

    def __init__(
        self,
        control: socket.socket,
        run: dict[str, Any],
        confinement: Confinement,
        stdio: Sequence[int],
    ) -> None:
        self._control = control
        self._run = run
        self._confinement = confinement
        self._stdio = tuple(stdio)
        self.reason: str | None = None  # why the run was ended from here
        self.cpu_s = 0.0
        self.peak_memory_bytes = 0
        self.peak_processes = 1
        self._main = -1
        self._status: int | None = None
        self._next_sample = time.monotonic() + TICK_S
        self._wakeup, waker = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def run_steps(self) -> tuple[str, int]:
        """(phase, wait status) of the step that decided the run.

        Raises:
            StepError: a program could not be started or not be ended.
        """
        steps = self._run["steps"]
        for step in steps:
            last = step is steps[-1]
            self._status = None
            self._main = self._start(step["argv"], reads_input=last)
            status = self._watch()
            if last or status != 0 or self.reason:
                return step["phase"], status
        raise StepError("a run without steps")

    def end_all(self) -> None:
        """Nothing of the run is left when this returns.

        Raises:
            StepError: something is.
        """
        deadline = time.monotonic() + END_S_MAX
        while time.monotonic() < deadline:
            self._kill_all()
            if not self._reap():
                return
            time.sleep(0.001)
        raise StepError("processes of the run could not be ended")

    def _start(self, argv: Sequence[str], *, reads_input: bool) -> int:
        reader, writer = os.pipe2(os.O_CLOEXEC)
        stdio = self._stdio
        if not reads_input:  # a compiler reads nothing, and all it says is diagnosis
            stdio = (os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC), stdio[2], stdio[2])
        pid = os.fork()
        if pid == 0:
            enter_program(argv, self._run, self._confinement, stdio, writer)
        os.close(writer)
        if not reads_input:
            os.close(stdio[0])
        failure = os.read(reader, 4096)
        os.close(reader)
        if failure:
            raise StepError(failure.decode(errors="replace"))
        return pid

    def _watch(self) -> int:
        """Until the step's process is reaped, of itself or told to end: its wait status."""
        poll = select.poll()
        poll.register(self._wakeup, select.POLLIN)
        if not self.reason:
            poll.register(self._control, select.POLLIN)
        told_at = None
        while self._status is None:
            for fd, _ in poll.poll(TICK_S * 1000):
                if fd == self._wakeup:
                    os.read(self._wakeup, 4096)
                else:
                    self._control.recv(64)  # an order or the server's end: both mean stop
                    poll.unregister(self._control)
                    self.reason = self.reason or "asked"
            self._reap()
            if time.monotonic() >= self._next_sample:
                self._sample()
            if self.reason and self._status is None:
                self._kill_all()
                told_at = told_at or time.monotonic()
                if time.monotonic() - told_at > END_S_MAX:
                    raise StepError("the program could not be ended")
        return self._status

    def _reap(self) -> bool:
        """Collect what has ended; whether any child is left."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            self.cpu_s += usage.ru_utime + usage.ru_stime
            self.peak_memory_bytes = max(self.peak_memory_bytes, usage.ru_maxrss * 1024)
            if pid == self._main:
                self._status = status

    def _sample(self) -> None:
        """Sum over the tree: processor time always, memory where no control group does."""
        self._next_sample = time.monotonic() + TICK_S
        cpu_s, resident, count = self.cpu_s, 0, 0
        for pid in self._members():
            try:
                with open(f"/proc/{pid}/stat", "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()
            except OSError:
                continue  # it has just ended
            count += 1
            cpu_s += sum(map(int, fields[11:15])) / CLOCK_TICKS
            resident += int(fields[21]) * PAGE_BYTES
        self.peak_processes = max(self.peak_processes, count)
        self.peak_memory_bytes = max(self.peak_memory_bytes, resident)
        if cpu_s > self._run["cpu_s"]:
            self.reason = self.reason or "cpu"
        if self._run["memory_bytes"] and resident > self._run["memory_bytes"]:
            self.reason = self.reason or "memory"

    def _members(self) -> list[int]:
        """Every process of the run but this one."""
        me = os.getpid()
        if me == 1:
            return [int(name) for name in os.listdir("/proc") if name.isdigit() and name != "1"]
        return _descendants(me)

    def _kill_all(self) -> None:
        # As pid 1, -1 is all of the namespace in one step that no fork can outrun.
        for pid in (-1,) if os.getpid() == 1 else self._members():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _descendants(pid: int) -> list[int]:
    """All processes below `pid`: with a subreaper at the top none can leave the tree."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                parent = int(file.read().rpartition(b")")[2].split()[1])
                children.setdefault(parent, []).append(int(name))
    found, frontier = [], [pid]
    while frontier:
        frontier = [child for parent in frontier for child in children.get(parent, ())]
        found += frontier
    return found
