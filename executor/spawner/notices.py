"""Calls of a program as the kernel tells them before they take effect, by seccomp_unotify(2).

An exit: behind exit_group(2) no instruction of the program runs any more. What follows is the
kernel's own work: an interpreter's memory takes it 1 to 7 ms, and a parent is told when that is
done. A rename: see `renaming`. A call that is refused, or connects: see `refused`. Nothing that is
decided here rests on what a program says: the call, the thread and the exit code are the kernel's
to tell.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import socket
from collections.abc import Mapping
from typing import NamedTuple

from . import name_server, notification
from .confine import Confinement
from .kernel import SYS_CONNECT, SYS_EXIT_GROUP, SYS_RENAME, SYS_RENAMEAT, SYS_RENAMEAT2
from .messages import BoxDescription
from .refused import RefusedCounts
from .renaming import Renames
from .tree import Handles

SET_FLAGS = 0x40082104  # _IOW('!', 4, u64): linux/seccomp.h
SYNC_WAKE_UP = 1
RENAMES = frozenset((SYS_RENAME, SYS_RENAMEAT, SYS_RENAMEAT2))


class HeldCall(NamedTuple):
    """A system call in which a thread stands until it is answered, or killed."""

    listener: int
    asked: notification.Notification

    @property
    def thread(self) -> int:
        return self.asked.thread

    @property
    def number(self) -> int:
        return self.asked.call

    @property
    def arguments(self) -> tuple[int, ...]:
        return self.asked.arguments

    def go_on(self) -> None:
        """Let the kernel do what it would have done."""
        with contextlib.suppress(OSError):  # who asked was killed meanwhile
            notification.let_go_on(self.listener, self.asked)

    def answer(self, error: int) -> None:
        """Let the call fail with this error, or succeed without one."""
        with contextlib.suppress(OSError):
            notification.answer(self.listener, self.asked, error)

    def is_there(self) -> bool:
        """Whether the thread still stands in the call, and so its number is still its own."""
        return notification.is_waiting(self.listener, self.asked)

    def is_of(self, process: int) -> bool:
        return os.path.isdir(f"/proc/{process}/task/{self.thread}")


class Notices:
    """The supervisor's ends of the filters that programs and all they start have taken on.

    `fd` is ready to be read when somebody asks, a name of the cell's name server included.
    """

    def __init__(
        self,
        renames: Renames | None = None,
        refused: RefusedCounts | None = None,
        names: socket.socket | None = None,
    ) -> None:
        self._epoll = select.epoll()
        self.fd = self._epoll.fileno()
        self._renames = renames
        self.refused = refused or RefusedCounts()
        self._names = names
        if names:
            self._epoll.register(names, select.EPOLLIN)
        self._programs: dict[int, Confinement] = {}  # by listener

    def listen(self, listener: int, program: Confinement) -> None:
        """Serve a further program, of this confinement, until nothing of it is left."""
        self._programs[listener] = program
        self._epoll.register(listener, select.EPOLLIN)
        with contextlib.suppress(OSError):  # before Linux 6.6
            # Whoever asks waits for us: on one processor we hand over to each other at once.
            fcntl.ioctl(listener, SET_FLAGS, SYNC_WAKE_UP)

    def serve(self, main: int = -1) -> int | None:
        """Answer who asks; with what code this process is about to exit, if it is one of them.

        Any other process goes on to its end; `main` stays in the call until it is killed.
        """
        for listener, event in self._epoll.poll(0):
            if self._names and listener == self._names.fileno():
                name_server.answer_all(self._names, self.refused)
                continue
            if not event & select.EPOLLIN:
                self._close(listener)
                continue
            try:
                call = HeldCall(listener, notification.receive(listener))
            except OSError:  # who asked was killed meanwhile
                continue
            if call.number == SYS_EXIT_GROUP and call.is_of(main):
                return call.arguments[0] & 0xFF
            self._answer(call, self._programs[listener])
        return None

    def _answer(self, call: HeldCall, program: Confinement) -> None:
        """Let go on what is named here, and what a box has left; everything else is refused."""
        if call.number in RENAMES and self._renames:
            self._renames.decide(call, program)
        elif call.number == SYS_CONNECT:
            self.refused.see_connect(call.asked)
            call.go_on()
        elif call.number == SYS_EXIT_GROUP or call.number in RENAMES:
            call.go_on()
        elif error := self.refused.refuse(call.asked):
            call.answer(error)
        else:
            call.go_on()

    def settle(self, ended: Mapping[int, int]) -> None:
        """Answer those for whom a process has worked that is among these, by its wait status."""
        if self._renames:
            self._renames.settle(ended)

    def _close(self, listener: int) -> None:
        """Nobody is left who could ask there."""
        self._epoll.unregister(listener)
        del self._programs[listener]
        os.close(listener)


def of_cell(cell: BoxDescription, handles: Handles) -> Notices:
    """Those of a cell's programs."""
    project, told = cell.get("project"), cell.get("told")
    renames = Renames(project["target"], handles.view) if project else None
    return Notices(renames, RefusedCounts(dict(told["errors"]) if told else {}), handles.names)
