"""Calls of a program as the kernel tells them before they take effect, by seccomp_unotify(2).

An exit: behind exit_group(2) no instruction of the program runs any more. What follows is the
kernel's own work: an interpreter's memory takes it 1 to 7 ms, and a parent is told when that is
done. A rename: see `renaming`. A call that is refused, or connects: see `refused`. Nothing that is
decided here rests on what a program says: the call, the thread and the exit code are the kernel's
to tell.
"""

from __future__ import annotations

import os
import select
import socket
from collections.abc import Mapping

from .confine import Confinement
from .kernel import (
    SYS_CONNECT,
    SYS_EXIT_GROUP,
    SYS_RENAME,
    SYS_RENAMEAT,
    SYS_RENAMEAT2,
    HeldCall,
    hand_over_at_once,
    receive,
)
from .messages import BoxDescription
from .refused import RefusedCounts, answer_names
from .renaming import Renames
from .tree import Handles

RENAMES = frozenset((SYS_RENAME, SYS_RENAMEAT, SYS_RENAMEAT2))


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
        hand_over_at_once(listener)

    def serve(self, main: int = -1) -> int | None:
        """Answer who asks; with what code this process is about to exit, if it is one of them.

        Any other process goes on to its end; `main` stays in the call until it is killed.
        """
        for listener, event in self._epoll.poll(0):
            if self._names and listener == self._names.fileno():
                answer_names(self._names, self.refused)
                continue
            if not event & select.EPOLLIN:
                self._close(listener)
                continue
            try:
                call = receive(listener)
            except OSError:  # who asked was killed meanwhile
                continue
            if call.number == SYS_EXIT_GROUP and os.path.isdir(f"/proc/{main}/task/{call.thread}"):
                return call.arguments[0] & 0xFF
            self._answer(call, self._programs[listener])
        return None

    def _answer(self, call: HeldCall, program: Confinement) -> None:
        """Let go on what is named here, and what a box has left; everything else is refused."""
        if call.number in RENAMES and self._renames:
            self._renames.decide(call, program)
        elif call.number == SYS_CONNECT:
            self.refused.see_connect(call)
            call.go_on()
        elif call.number == SYS_EXIT_GROUP or call.number in RENAMES:
            call.go_on()
        elif error := self.refused.refuse(call):
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
    return Notices(renames, RefusedCounts(dict(told[1]) if told else {}), handles.names)
