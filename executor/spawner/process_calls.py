"""Calls that act on a process by its number, where no pid namespace hides the host's (tier B).

A filter can compare a number only with constants, and lets pass what names the caller itself by 0.
For any other number it has the supervisor asked, who knows which processes are the run's: each of
those has the supervisor above it, and none can leave, because it is their subreaper. A call that
names anything else is refused. The numbers are arguments in registers, which nobody can exchange
after the check. Where nobody can be asked, the kernel refuses all of these calls (ENOSYS).
"""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from .file_calls import CALLS, FileCalls
from .messages import BoxDescription
from .notification import Notification, answer, is_asked, let_go_on, receive
from .refused import RefusedCounts
from .wire import Description

REFUSED = "refused"  # the kind of calls that name nothing: refused, or so many for a box
ANSWERS_MAX = 64  # in one go, before the supervisor looks at limits and orders again
# setpriority(2) and ioprio_set(2) call a process, a group of them or a user by these.
PRIO_PROCESS, PRIO_PGRP = 0, 1
IOPRIO_WHO_PROCESS, IOPRIO_WHO_PGRP = 1, 2


@dataclass(frozen=True, slots=True)
class JudgedFilter:
    """The filter, and by which of `KINDS` the calls that it asks about name their process."""

    filter: bytes
    kinds: Mapping[int, str]
    writable: Sequence[str]  # below which files are the program's to change


def read_judged(cell: Description[BoxDescription]) -> JudgedFilter | None:
    """What a cell's description says of it; None in a tier that needs none."""
    told = cell.data.get("judged")
    if not told:
        return None
    writable = [os.path.realpath(path) for path, access in cell.data["access"] if access == "rw"]
    return JudgedFilter(cell.blob(told["filter"]), dict(told["kinds"]), writable)


class Judge:
    """The supervisor's end of the filter: answers what one step's processes ask."""

    def __init__(self, fd: int, judged: JudgedFilter, refused: RefusedCounts | None = None) -> None:
        self.fd = fd
        self._refused = refused or RefusedCounts()
        self._kinds = judged.kinds
        self._files = FileCalls(fd, judged.writable)

    def answer(self) -> bool:
        """Answer what is asked by now; False when nobody is left who could ask."""
        if not is_asked(self.fd):
            return False
        for _ in range(ANSWERS_MAX):
            try:
                asked = receive(self.fd)
                self._answer(asked)
            except OSError:
                pass  # who asked was killed meanwhile
            if not is_asked(self.fd):
                break
        return True

    def _answer(self, asked: Notification) -> None:
        name = self._kinds.get(asked.call, "")
        if name in CALLS:
            answer(self.fd, asked, self._files.do(name, asked))
        elif error := self._error(name, asked):
            answer(self.fd, asked, error)
        else:
            let_go_on(self.fd, asked)

    def _error(self, kind: str, asked: Notification) -> int:
        if kind == REFUSED:
            return self._refused.refuse(asked)
        names_own = KINDS.get(kind)
        if names_own is None:
            return errno.EPERM
        try:
            which, who = (ctypes.c_int(each).value for each in asked.arguments[:2])
            return 0 if names_own(which, who) else errno.EPERM
        except FileNotFoundError:
            return errno.ESRCH


def is_own(pid: int) -> bool:
    """Whether a process or thread is the run's: this process is above it.

    Raises:
        FileNotFoundError: there is no such process.
    """
    me = os.getpid()
    at = parent_of(pid)
    while at not in (0, me):
        at = parent_of(at)
    return at == me


def parent_of(pid: int) -> int:
    """The process above a process or thread; 0 at the top. Raises FileNotFoundError if none is."""
    return int(_fields(pid)[1])


def _is_own_group(group: int) -> bool:
    """Whether a process group is the run's.

    The run's programs begin a session of their own, and a group never spans two of them: with one
    member all are the run's.
    """
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                if int(_fields(int(name))[2]) == group:
                    return is_own(int(name))
            except FileNotFoundError:
                continue
    raise FileNotFoundError


def _fields(pid: int) -> list[bytes]:
    """State, parent, group and more: proc_pid_stat(5). Raises FileNotFoundError if it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()
    except ProcessLookupError as error:
        raise FileNotFoundError from error


def _names_process(pid: int, _: int) -> bool:
    return pid == 0 or (pid > 0 and is_own(pid))


def _names_priority(which: int, who: int) -> bool:
    return _names(who, is_process=which == PRIO_PROCESS, is_group=which == PRIO_PGRP)


def _names_io_priority(which: int, who: int) -> bool:
    return _names(who, is_process=which == IOPRIO_WHO_PROCESS, is_group=which == IOPRIO_WHO_PGRP)


def _names(who: int, *, is_process: bool, is_group: bool) -> bool:
    """A user's processes are never a run's alone, not even where the user is named by 0."""
    if is_process:
        return _names_process(who, 0)
    return is_group and (who == 0 or (who > 0 and _is_own_group(who)))


def _names_target(pid: int, _: int) -> bool:
    """As kill(2) does: -1 is all that the user has."""
    if pid < -1:
        return _is_own_group(-pid)
    return pid != -1 and _names_process(pid, 0)


KINDS: Mapping[str, Callable[[int, int], bool]] = {
    "process": _names_process,
    "priority": _names_priority,
    "io priority": _names_io_priority,
    "target": _names_target,
}
