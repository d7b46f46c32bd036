"""Stopping every thread by ptrace, which no signal, timer or stopped process can undo.

A thread that was interrupted runs no more code of its program: it stops at the latest when it
leaves the system call it is in. Any thread it starts before that is traced from the beginning.
"""

from __future__ import annotations

import contextlib
import errno
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from resource import struct_rusage

from . import proc
from .kernel import ARM, PTRACE_DETACH, PTRACE_INTERRUPT, PTRACE_SEIZE, StepError, ptrace

# PTRACE_O_TRACEFORK, _TRACEVFORK, _TRACECLONE, _EXITKILL: traced threads die with their tracer.
OPTIONS = 0x2 | 0x4 | 0x8 | 0x100000
WALL = 0x40000000
STOP_S_MAX = 5.0
REAP_S = 0.02
ENDS = (os.CLD_EXITED, os.CLD_KILLED, os.CLD_DUMPED)
# Calls in which a thread can't be interrupted until its child has become a program. The flags of
# the last one, clone3, are behind a pointer; the filter refuses it to programs.
CLONE, VFORK = (b"220", (b"435",)) if ARM else (b"56", (b"58", b"435"))
CLONE_VFORK = 0x4000

End = tuple[int, int, struct_rusage]


class PtraceStop:
    """The threads that a process traces. Only its first thread may stop and release."""

    def __init__(self) -> None:
        self.is_used = False  # there may be traced threads from now on
        self._ends: list[End] = []  # of this process's own children
        self._stopped: dict[int, int] = {}  # threads, and the signals that they were about to get
        self._awaited: set[int] = set()  # interrupted threads that are about to stop
        self._is_wanted = False  # whether threads are to be stopped
        self._is_helped = False
        self._lock = threading.Lock()

    def stop(
        self,
        listed: Callable[[], Iterator[int]],
        members: Callable[[], list[int]],
        rest: Callable[[], bool],
    ) -> None:
        """Stop all threads of these processes, until two looks find the same and nothing new.

        `listed` finds some members sooner, before they have forked and exited. `rest` waits
        briefly for news of the kernel, and returns whether there may be some.

        Raises:
            StepError: a thread may not be traced, or does not stop.
        """
        self.is_used = self._is_wanted = True
        deadline = time.monotonic() + STOP_S_MAX
        seen: set[int] | None = None
        with contextlib.ExitStack() as stack:
            while True:
                is_quiet, count = not self._take_news(), len(self._stopped)
                before, seen = seen, self._look(members(), stack)
                if seen is not None and seen == before and is_quiet:
                    return
                if time.monotonic() > deadline:
                    raise StepError("a process does not stop")
                self._await_stops(rest)
                is_outrun = seen is None or before is not None
                if is_outrun and len(self._stopped) <= count:  # all had forked and exited
                    self._look(listed(), stack)
                    self._await_stops(rest)

    def _await_stops(self, rest: Callable[[], bool]) -> None:
        while self._awaited and rest():
            self._take_news()

    def release(self) -> None:
        """Continue all threads, with the signals that arrived while they were stopped."""
        self._is_wanted = False
        self._take_news()
        for thread, signal in self._stopped.items():
            ptrace(PTRACE_DETACH, thread, signal)  # it may have been killed
        self._stopped.clear()

    def next_end(self) -> End | None:
        """Return the next child of this process that has ended, traced or not."""
        if not self._ends:
            self._take_news()
        return self._ends.pop(0) if self._ends else None

    def _take_news(self) -> bool:
        """Process all events that the kernel reports; return whether there were any.

        The kernel reports every thread's stop and end to a tracer. Only the ends of this process's
        own children are counted here: their parents count all others.
        """
        with self._lock:
            is_any = False
            while (told := _next_told()) is not None:
                is_any = True
                is_end_of_child = told.si_code in ENDS and _is_child(told.si_pid)
                pid, status, usage = os.wait4(told.si_pid, os.WNOHANG | WALL)
                self._awaited.discard(pid)
                if os.WIFSTOPPED(status):
                    self._note_stop(pid, 0 if status >> 16 else os.WSTOPSIG(status))
                    continue
                self._stopped.pop(pid, None)
                if is_end_of_child:
                    self._ends.append((pid, status, usage))
            return is_any

    def _note_stop(self, thread: int, signal: int) -> None:
        if self._is_wanted:
            self._stopped[thread] = signal
        else:  # only now could it stop, after its vfork child
            ptrace(PTRACE_DETACH, thread, signal)

    def _look(self, members: Iterable[int], stack: contextlib.ExitStack) -> set[int] | None:
        """Interrupt all threads that can still act; if none can, return all threads."""
        seen, is_still = set(), True
        self._awaited.clear()
        for pid in members:
            try:
                threads = proc.threads(pid)
                if len(threads) > 1 and not self._is_helped:
                    stack.enter_context(self._help())
                for thread in threads:
                    is_still &= self._is_still(f"/proc/{pid}/task/{thread}", thread)
            except OSError:
                is_still = False  # it has just ended and may have started another
                continue
            seen |= set(threads)
        return seen if is_still else None

    def _is_still(self, folder: str, thread: int) -> bool:
        """Return whether a thread can do nothing; otherwise interrupt it.

        Raises:
            OSError: it has ended.
            StepError: it may not be traced.
        """
        # An exec may have given a stopped thread's number to another thread.
        if thread in self._stopped and proc.stat(folder)[0] == b"t":
            return True
        for _ in range(2):  # for the same reason
            code = ptrace(PTRACE_SEIZE, thread, OPTIONS)
            if code == 0:
                ptrace(PTRACE_INTERRUPT, thread)
                self._awaited.add(thread)
                return False
            state = proc.stat(folder)[0]
            if state in b"ZX":
                return state == b"Z"
            if proc.identity(folder)[2] == os.getpid():  # since its start, or the last look
                if state == b"D" and _waits_for_child(folder):
                    return True
                self._awaited.add(thread)
                return False
        raise StepError(f"a process may not be traced ({errno.errorcode.get(code, code)})")

    @contextlib.contextmanager
    def _help(self) -> Iterator[None]:
        """Reap while seizing, because a seize waits for an exec running in the same process.

        The exec waits until all other threads of its process are gone, also those traced by us.
        """
        over = threading.Event()

        def reap() -> None:
            while not over.wait(REAP_S):
                self._take_news()

        helper = threading.Thread(target=reap, daemon=True)
        try:
            helper.start()
        except RuntimeError as error:  # the box has reached its limit of threads
            raise StepError(f"a process with several threads was not stopped: {error}") from error
        self._is_helped = True
        try:
            yield
        finally:
            over.set()
            helper.join()
            self._is_helped = False


def _next_told() -> os.waitid_result | None:
    try:
        return os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None


def _is_child(pid: int) -> bool:
    """Return whether this is a child process of this one, not a thread of one."""
    try:
        group, parent, _ = proc.identity(f"/proc/{pid}")
    except OSError:
        return False
    return (group, parent) == (pid, os.getpid())


def _waits_for_child(folder: str) -> bool:
    """Return whether a traced thread waits in the kernel for its vfork child, which is stopped."""
    try:
        with open(f"{folder}/syscall", "rb") as file:
            number, *arguments = file.read().split()
    except OSError:  # it has ended, or this kernel does not show it
        return False
    return number in VFORK or (number == CLONE and bool(int(arguments[0], 16) & CLONE_VFORK))
