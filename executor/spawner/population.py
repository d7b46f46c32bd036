"""A cell's processes, except its supervisor: reaped, measured, ended."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Iterator

from . import proc
from .kernel import StepError
from .process_calls import Judge, is_own
from .ptrace_stop import End, PtraceStop

TICK_S = 0.1
END_S_MAX = 5.0
NEWS_S_MAX = 0.001
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
CPUCLOCK_SCHED = 2  # clock_getcpuclockid(3), include/linux/posix-timers_types.h
PF_EXITING = 0x4  # include/linux/sched.h


class Population:
    """The processes of the cell. `poll` returns when a child has ended, or a tick is over."""

    def __init__(self) -> None:
        self.cpu_s = 0.0  # of processes that were reaped
        self.peak_memory_bytes = 0
        self.peak_processes = 1
        self.threads = 0  # of all processes, at the last measurement
        self.own_kernel = False  # a kernel for the cell alone: its counts are better than a sum
        self.poller = select.poll()
        self._ptrace_stop = PtraceStop()
        self._judges: dict[int, Judge] = {}
        self._next_sample = time.monotonic() + TICK_S
        self._wakeup, waker = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self.poller.register(self._wakeup, select.POLLIN)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def wait(self) -> list[int]:
        """Wait until a child has ended, a tick is over, or descriptors of the poller are ready.

        Returns those descriptors.
        """
        ready = [fd for fd, _ in self.poller.poll(TICK_S * 1000)]
        if self._wakeup in ready:
            os.read(self._wakeup, 4096)
            ready.remove(self._wakeup)
        for fd in self._judges.keys() & set(ready):
            ready.remove(fd)
            if not self._judges[fd].answer():
                self.poller.unregister(fd)
                os.close(self._judges.pop(fd).fd)
        return ready

    def ask(self, judge: Judge | None) -> None:
        """Make `wait` answer for this judge from now on, until no process can ask any more."""
        if judge:
            self._judges[judge.fd] = judge
            self.poller.register(judge.fd, select.POLLIN)

    def reap(self) -> Iterator[tuple[int, int]]:
        """Reap every child that has ended: its (pid, wait status)."""
        next_end = self._ptrace_stop.next_end if self._ptrace_stop.is_used else _next_end
        while (end := next_end()) is not None:
            pid, status, usage = end
            self.cpu_s += usage.ru_utime + usage.ru_stime
            if not (self.own_kernel and self.peak_memory_bytes):  # gVisor's value is far too high
                self.peak_memory_bytes = max(self.peak_memory_bytes, usage.ru_maxrss * 1024)
            yield pid, status

    def sample(self) -> tuple[float, int] | None:
        """Return the result of `measure` once per tick, else None."""
        if time.monotonic() < self._next_sample:
            return None
        self._next_sample = time.monotonic() + TICK_S
        return self.measure()

    def measure(self) -> tuple[float, int]:
        """Return the processor time so far and the resident bytes of the whole tree."""
        cpu_s, resident, count, threads = self.cpu_s, 0, 0, 0
        for pid in self._members():
            try:
                fields = proc.stat(f"/proc/{pid}")
            except OSError:
                continue  # it has just ended
            count += 1
            cpu_s += sum(map(int, fields[11:15])) / CLOCK_TICKS
            threads += int(fields[17])
            resident += int(fields[21]) * PAGE_BYTES
        if self.own_kernel:
            resident = _in_use_bytes()
        self.threads = threads
        self.peak_processes = max(self.peak_processes, count)
        self.peak_memory_bytes = max(self.peak_memory_bytes, resident)
        return cpu_s, resident

    def reset_counts(self) -> None:
        """Start counting at 0: resources used so far belong to no run."""
        self.cpu_s -= self.measure()[0]
        self.peak_memory_bytes, self.peak_processes = 0, 1

    def signal_all(self, number: int) -> None:
        """Signal all processes. For pid 1, -1 is the whole namespace: no fork can outrun it."""
        if os.getpid() == 1:
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, number)
            return
        for members in (self._listed_members, self._members):
            for pid in members():
                with contextlib.suppress(ProcessLookupError, FileNotFoundError):
                    _signal(pid, number)

    def be_still(self) -> None:
        """Kill every process. After this none of them runs code, but some may still exist.

        Their resources are counted as when they are reaped.

        Raises:
            StepError: a process still runs.
        """
        for pid in self._members():
            with contextlib.suppress(OSError):
                self._count_last(pid)
        self.signal_all(signal.SIGKILL)
        deadline = time.monotonic() + END_S_MAX
        before = self._members() if os.getpid() == 1 else None  # else a fork can outrun one list
        while (members := self._members()) != before or not all(map(_is_past_running, members)):
            if time.monotonic() > deadline:
                raise StepError("processes of the run could not be ended")
            before = members
            self.signal_all(signal.SIGKILL)
            time.sleep(0.0001)

    def _count_last(self, pid: int) -> None:
        clock = ~pid << 3 | CPUCLOCK_SCHED
        of_children = proc.stat(f"/proc/{pid}")[13:15]
        self.cpu_s += time.clock_gettime(clock) + sum(map(int, of_children)) / CLOCK_TICKS
        with open(f"/proc/{pid}/status", "rb") as file:
            _, found, rest = file.read().partition(b"VmHWM:")  # missing if it has ended
        if found:
            peak = int(rest.split(None, 1)[0]) * 1024
            self.peak_memory_bytes = max(self.peak_memory_bytes, peak)

    def stop_all(self) -> None:
        """Stop every thread of every process, until `continue_all`.

        Raises:
            StepError: a thread may not be traced, or does not stop: it may still run.
        """
        self._ptrace_stop.stop(self._listed_members, self._members, self._await_child)

    def continue_all(self) -> None:
        """Continue all threads, except those that were stopped before `stop_all`."""
        self._ptrace_stop.release()

    def end_all(self) -> None:
        """End every process.

        Raises:
            StepError: a process is left.
        """
        deadline = time.monotonic() + END_S_MAX
        while time.monotonic() < deadline:
            self.signal_all(signal.SIGKILL)
            for _ in self.reap():
                pass
            if not has_children():
                return
            time.sleep(0.001)
        raise StepError("processes of the run could not be ended")

    def _await_child(self) -> bool:
        """Wait briefly until a child or traced thread has ended or stopped; return if one has."""
        if select.select([self._wakeup], [], [], NEWS_S_MAX)[0]:
            return bool(os.read(self._wakeup, 4096))
        return False

    def _listed_members(self) -> Iterator[int]:
        """List processes that fork and exit too fast for a look through all processes.

        As pid 1 none are needed: there is nothing else to look through.
        """
        me = os.getpid()
        return iter(()) if me == 1 else proc.listed_descendants(me)

    def _members(self) -> list[int]:
        """List every process except this one."""
        me = os.getpid()
        if me == 1:
            return [int(name) for name in os.listdir("/proc") if name.isdigit() and name != "1"]
        return proc.descendants(me)


def _next_end() -> End | None:
    """Return the next child that has ended, if no process is traced."""
    try:
        end = os.wait4(-1, os.WNOHANG)
    except ChildProcessError:
        return None
    return end if end[0] else None


def _signal(pid: int, number: int) -> None:
    """Signal a process below this one, never another one that now has its number.

    Raises:
        ProcessLookupError, FileNotFoundError: it has ended.
    """
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        raise
    except OSError:  # no descriptor left: the number is better than no signal
        os.kill(pid, number)
        return
    try:
        if is_own(pid):
            signal.pidfd_send_signal(pidfd, number)
    finally:
        os.close(pidfd)


def _in_use_bytes() -> int:
    """Return the memory of programs by the count of a container's own kernel, with files in it."""
    with open("/proc/meminfo", "rb") as file:
        fields = dict(line.split(b":") for line in file)
    return sum(int(fields[name].split()[0]) * 1024 for name in (b"AnonPages", b"Shmem"))


def _is_past_running(pid: int) -> bool:
    """Return whether all threads of a process are exiting, after which none runs its code."""
    try:
        for thread in proc.threads(pid):
            if not int(proc.stat(f"/proc/{pid}/task/{thread}")[6]) & PF_EXITING:
                return False
    except OSError:
        return True
    return True


def has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True
