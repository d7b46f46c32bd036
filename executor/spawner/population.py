"""All processes of a cell but its supervisor: reaped, measured, ended."""

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
    """What lives in the cell. `poll` returns when a child has ended, or a tick is over."""

    def __init__(self) -> None:
        self.cpu_s = 0.0  # of processes that were reaped
        self.peak_memory_bytes = 0
        self.peak_processes = 1
        self.threads = 0  # of all processes, when they were measured last
        self.own_kernel = False  # nothing else runs on this kernel, which counts better than a sum
        self.poller = select.poll()
        self._ptrace_stop = PtraceStop()
        self._judges: dict[int, Judge] = {}
        self._next_sample = time.monotonic() + TICK_S
        self._wakeup, waker = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self.poller.register(self._wakeup, select.POLLIN)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def wait(self) -> list[int]:
        """Until a child has ended, a tick is over, or other descriptors of the poller are ready.

        The latter.
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
        """From now on `wait` has this judge answer, until nobody is left who could ask."""
        if judge:
            self._judges[judge.fd] = judge
            self.poller.register(judge.fd, select.POLLIN)

    def reap(self) -> Iterator[tuple[int, int]]:
        """(pid, wait status) of every child that has ended."""
        next_end = self._ptrace_stop.next_end if self._ptrace_stop.is_used else _next_end
        while (end := next_end()) is not None:
            pid, status, usage = end
            self.cpu_s += usage.ru_utime + usage.ru_stime
            if not (self.own_kernel and self.peak_memory_bytes):  # gVisor's are far too high
                self.peak_memory_bytes = max(self.peak_memory_bytes, usage.ru_maxrss * 1024)
            yield pid, status

    def sample(self) -> tuple[float, int] | None:
        """What `measure` gives, once in a tick; None between two of them."""
        if time.monotonic() < self._next_sample:
            return None
        self._next_sample = time.monotonic() + TICK_S
        return self.measure()

    def measure(self) -> tuple[float, int]:
        """Processor time so far and resident bytes of the whole tree."""
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

    def count_anew(self) -> None:
        """From now on: what was used up so far belongs to nobody's run."""
        self.cpu_s -= self.measure()[0]
        self.peak_memory_bytes, self.peak_processes = 0, 1

    def signal_all(self, number: int) -> None:
        """As pid 1, -1 is all of the namespace in one step that no fork can outrun."""
        if os.getpid() == 1:
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, number)
            return
        for members in (self._listed_members, self._members):
            for pid in members():
                with contextlib.suppress(ProcessLookupError, FileNotFoundError):
                    _signal(pid, number)

    def be_still(self) -> None:
        """Kill every process; nothing of them runs when this returns, but they may be there yet.

        What they used up is counted, as it is when they are reaped.

        Raises:
            StepError: something runs.
        """
        for pid in self._members():
            with contextlib.suppress(OSError):
                self._count_last(pid)
        self.signal_all(signal.SIGKILL)
        deadline = time.monotonic() + END_S_MAX
        before = self._members() if os.getpid() == 1 else None  # else a fork can outrun one look
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
            _, found, rest = file.read().partition(b"VmHWM:")  # what has ended has none
        if found:
            peak = int(rest.split(None, 1)[0]) * 1024
            self.peak_memory_bytes = max(self.peak_memory_bytes, peak)

    def stop_all(self) -> None:
        """Stop every thread of every process, until `continue_all`.

        Raises:
            StepError: one may not be traced, or does not stop: it may run.
        """
        self._ptrace_stop.stop(self._listed_members, self._members, self._await_child)

    def continue_all(self) -> None:
        """Let all go on; what stood still of itself stands still."""
        self._ptrace_stop.release()

    def end_all(self) -> None:
        """Nothing is left when this returns.

        Raises:
            StepError: something is.
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
        """Until a child, or what is traced, has ended or stopped, but not for long: whether so."""
        if select.select([self._wakeup], [], [], NEWS_S_MAX)[0]:
            return bool(os.read(self._wakeup, 4096))
        return False

    def _listed_members(self) -> Iterator[int]:
        """Those that a look through all processes would come too late for, as they fork and exit.

        None are needed as pid 1, where there is nothing else to look through.
        """
        me = os.getpid()
        return iter(()) if me == 1 else proc.listed_descendants(me)

    def _members(self) -> list[int]:
        """Every process but this one."""
        me = os.getpid()
        if me == 1:
            return [int(name) for name in os.listdir("/proc") if name.isdigit() and name != "1"]
        return proc.descendants(me)


def _next_end() -> End | None:
    """The next child that has ended, where nothing is traced."""
    try:
        end = os.wait4(-1, os.WNOHANG)
    except ChildProcessError:
        return None
    return end if end[0] else None


def _signal(pid: int, number: int) -> None:
    """Signal a process below this one, never another that has got its number meanwhile.

    Raises:
        ProcessLookupError, FileNotFoundError: it has ended.
    """
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        raise
    except OSError:  # no descriptor left: better so than not at all
        os.kill(pid, number)
        return
    try:
        if is_own(pid):
            signal.pidfd_send_signal(pidfd, number)
    finally:
        os.close(pidfd)


def _in_use_bytes() -> int:
    """What a container's own kernel counts as programs' memory, files in memory included."""
    with open("/proc/meminfo", "rb") as file:
        fields = dict(line.split(b":") for line in file)
    return sum(int(fields[name].split()[0]) * 1024 for name in (b"AnonPages", b"Shmem"))


def _is_past_running(pid: int) -> bool:
    """Whether all threads of a process have begun to exit, behind which none runs its code."""
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
