"""Calls that act on a process by its number, if no pid namespace hides the host's (tier B).

A filter can only compare a number with constants; it allows calls that name the caller itself by 0.
For any other number the kernel asks the supervisor, which knows the run's processes: each has the
supervisor above it, and none can leave, because it is their subreaper. A call that names any other
process is refused. The numbers are arguments in registers, so nothing can exchange them after the
check. If there is no supervisor to ask, the kernel refuses all of these calls (ENOSYS).
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
from collections.abc import Callable, Mapping
from functools import partial

from . import proc
from .file_calls import CALLS, do_file_call
from .kernel import HeldCall, hand_over_at_once, is_asked, receive
from .messages import BoxDescription, Description
from .refusal_counts import COUNTED_CALLS, RefusedCounts

REFUSED = "refused"  # calls that name no process: always refused, or limited per box
ANSWERS_MAX = 64  # per turn, before the supervisor checks limits and orders again
# setpriority(2) and ioprio_set(2) name a process, a group of processes or a user by these.
PRIO_PROCESS, PRIO_PGRP = 0, 1
IOPRIO_WHO_PROCESS, IOPRIO_WHO_PGRP = 1, 2


JudgedFilter = tuple[bytes, Mapping[int, str], Mapping[str, str]]
"""The filter; for each call that it asks about which of `KINDS` it is; Landlock's grants by real
path."""


def read_judged(cell: Description[BoxDescription]) -> JudgedFilter | None:
    """Read the judged calls from a cell's description; None in a tier that needs none."""
    told = cell.data.get("judged")
    if not told:
        return None
    # If two grants are for the same place, the one that permits more: "list", "r", "rw".
    grants: dict[str, str] = {}
    for path, access in sorted(cell.data["access"], key=lambda grant: grant[1]):
        with contextlib.suppress(OSError):  # the path is missing
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)  # for thousands faster than realpath()
            grants[os.readlink(f"/proc/self/fd/{place}")] = access
            os.close(place)
    return cell.blob(told[0]), dict(told[1]), grants


class Judge:
    """The supervisor's end of the filter: answers the calls of one step's processes."""

    def __init__(self, fd: int, judged: JudgedFilter, refused: RefusedCounts | None = None) -> None:
        self.fd = fd
        hand_over_at_once(fd)
        self._refused = refused or RefusedCounts()
        _, self._kinds, self._grants = judged

    def answer(self) -> bool:
        """Answer the calls that wait now; return False if no process is left that could ask."""
        if not is_asked(self.fd):
            return False
        for _ in range(ANSWERS_MAX):
            with contextlib.suppress(OSError):  # the caller was killed in the meantime
                self._answer(receive(self.fd))
            if not is_asked(self.fd):
                break
        return True

    def _answer(self, asked: HeldCall) -> None:
        name = self._kinds.get(asked.number, "")
        if error := self._error(name, asked):
            asked.answer(error)
        elif name in CALLS:
            returned = do_file_call(name, asked, self._grants)
            asked.answer(max(-returned, 0), max(returned, 0))
        else:
            asked.go_on()

    def _error(self, kind: str, asked: HeldCall) -> int:
        if kind == REFUSED or asked.number in COUNTED_CALLS:
            return self._refused.refuse(asked)
        if kind in CALLS:
            return 0
        names_own = KINDS.get(kind)
        if names_own is None:
            return errno.EPERM
        try:
            which, who = (ctypes.c_int(each).value for each in asked.arguments[:2])
            return 0 if names_own(which, who) else errno.EPERM
        except FileNotFoundError:
            return errno.ESRCH


def is_own(pid: int) -> bool:
    """Return whether a process or thread belongs to the run: this process is above it.

    Raises:
        FileNotFoundError: the process does not exist.
    """
    me = os.getpid()
    at = parent_of(pid)
    while at not in (0, me):
        at = parent_of(at)
    return at == me


def parent_of(pid: int) -> int:
    """Return the parent of a process or thread; 0 at the top. FileNotFoundError if it is gone."""
    return int(_read_fields(pid)[1])


def _is_own_group(group: int) -> bool:
    """Return whether a process group is the run's.

    The run's programs start their own session, and a group never spans two sessions: if one member
    is the run's, all are.
    """
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                if int(_read_fields(int(name))[2]) == group:
                    return is_own(int(name))
            except FileNotFoundError:
                continue
    raise FileNotFoundError


def _read_fields(pid: int) -> list[bytes]:
    """Read state, parent, group and more: proc_pid_stat(5). FileNotFoundError if it is gone."""
    try:
        return proc.stat(f"/proc/{pid}")
    except ProcessLookupError as error:
        raise FileNotFoundError from error


def _names_process(pid: int, _: int) -> bool:
    return pid == 0 or (pid > 0 and is_own(pid))


def _names_by(of_process: int, of_group: int, which: int, who: int) -> bool:
    """Judge a call by its target. A user has processes besides the run's, even if named by 0."""
    if which == of_process:
        return _names_process(who, 0)
    return which == of_group and (who == 0 or (who > 0 and _is_own_group(who)))


def _names_target(pid: int, _: int) -> bool:
    """Judge as kill(2) does: -1 names all processes of the user."""
    if pid < -1:
        return _is_own_group(-pid)
    return pid != -1 and _names_process(pid, 0)


KINDS: Mapping[str, Callable[[int, int], bool]] = {
    "process": _names_process,
    "priority": partial(_names_by, PRIO_PROCESS, PRIO_PGRP),
    "io priority": partial(_names_by, IOPRIO_WHO_PROCESS, IOPRIO_WHO_PGRP),
    "target": _names_target,
}
