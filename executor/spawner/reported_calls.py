"""Calls of a program that the kernel reports before they take effect, by seccomp_unotify(2).

An exit: after exit_group(2) no instruction of the program runs. The rest is the kernel's work: it
takes 1 to 7 ms to free an interpreter's memory, and a parent is notified only then. A rename of a
folder in a copy-on-write project: see `Renames`. A call that is refused, or connects: see
`refused`. No decision here depends on a program's word: the call, the thread and the exit code come
from the kernel.
"""

from __future__ import annotations

import errno
import os
import select
import socket
import struct
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, NoReturn

from . import folder_move
from .confine import Confinement, arrange_descriptors, confine, reset_signals
from .kernel import (
    AT_FDCWD,
    SYS_CONNECT,
    SYS_EXIT_GROUP,
    SYS_RENAME,
    SYS_RENAMEAT,
    SYS_RENAMEAT2,
    HeldCall,
    StepError,
    hand_over_at_once,
    receive,
)
from .messages import BoxDescription
from .proc import score
from .refusal_counts import RefusedCounts, answer_names
from .tree import Handles, mount_points

if TYPE_CHECKING:
    from .view import View

PATH_BYTES_MAX = 4096
MOVES_AT_ONCE = 4
NO_REPLACE = 1
PLACE = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC


_Rename = tuple[tuple[bytes, bytes], tuple[bytes, bytes], int]
"""The arguments of a rename: source, target, flags. Each path follows the descriptor or folder that
it starts from."""
_Move = tuple[HeldCall, _Rename, Confinement]
"""A call that waits, its arguments, and the confinement of its program."""


# An unprivileged overlay answers EXDEV to the rename of a folder that the run did not make: it
# would have to be redirected, which overlays do for root alone. So a separate process moves it
# piece by piece, under the program's very confinement: it can do nothing that the program could
# not, whatever names and links a program exchanges during the move. All that is read of a program
# here only decides which calls are worth that.
class Renames:
    """Renames of folders by one cell's programs, which see the project in this view.

    Without a view, every folder is treated as one that the kernel can't rename.
    """

    def __init__(self, project: str, view: View | None = None) -> None:
        self._inside = os.fsencode(project) + b"/"
        self._view = view
        self._waiting: deque[_Move] = deque()
        self._moving: dict[int, HeldCall] = {}  # by the process that works on it

    def decide(self, call: HeldCall, program: Confinement) -> None:
        """Start moving the folder that this call renames; let any other call continue."""
        asked = _read(call)
        if asked and self._is_for_us(asked):
            self._waiting.append((call, asked, program))
            self._begin()
        else:
            call.go_on()

    def settle(self, ended: Mapping[int, int]) -> None:
        """Answer the calls whose worker processes have ended."""
        for pid in self._moving.keys() & ended.keys():
            status = ended[pid]
            # It gets a signal only from a limit, or the end of the run.
            error = os.WEXITSTATUS(status) if os.WIFEXITED(status) else errno.EIO
            self._moving.pop(pid).answer(error)
        self._begin()

    def _is_for_us(self, asked: _Rename) -> bool:
        """Return whether it is a folder of the project that the host has under this name."""
        try:
            fd = os.open(os.path.join(*asked[0]), PLACE | os.O_NOFOLLOW)
        except (OSError, ValueError):
            return False
        try:
            path = os.readlink(b"/proc/self/fd/%d" % fd)
            if not path.startswith(self._inside):
                return False
            if self._view is not None and not self._view.layers:
                os.stat(path[len(self._inside) :], dir_fd=self._view.lower, follow_symlinks=False)
        except OSError:  # the run made it
            return False
        finally:
            os.close(fd)
        return True

    def _begin(self) -> None:
        while self._waiting and len(self._moving) < MOVES_AT_ONCE:
            move = self._waiting.popleft()
            try:
                self._start(move)
            except OSError:  # the descriptor does not exist, or no further process is allowed
                move[0].go_on()

    def _start(self, move: _Move) -> None:
        places: list[int] = []
        call, asked, _ = move
        try:
            for at, path in asked[:2]:
                places.append(os.open(b"/" if path.startswith(b"/") else at, PLACE))
            if not call.is_there():  # then these belong to another thread
                return
            with score.hold_raised():
                pid = os.fork()
                if pid == 0:
                    _work(move, places)
        finally:
            for place in places:
                os.close(place)
        self._moving[pid] = call


def _work(move: _Move, places: list[int]) -> NoReturn:
    """Act as the program: do what it asked for, and exit with the resulting error."""
    status = errno.EIO
    try:
        reset_signals()
        os.umask(0o022)
        mounts = mount_points()
        arrange_descriptors(places[:1], places[1])
        _, ((_, source), (_, target), flags), program = move
        confine(program)
        folder_move.rename((0, source), (1, target), flags, mounts)
        status = 0
    except OSError as error:
        status = error.errno or errno.EIO
    except StepError:
        status = errno.EXDEV  # as the kernel would have answered
    finally:
        os._exit(status)


def _read(call: HeldCall) -> _Rename | None:
    """Read a call's arguments; None if they can't be read, or only the kernel can do it."""
    arguments = call.arguments
    if call.number == SYS_RENAME:
        arguments = (AT_FDCWD, arguments[0], AT_FDCWD, arguments[1])
    elif call.number not in (SYS_RENAMEAT, SYS_RENAMEAT2):
        return None
    places, addresses = arguments[0:4:2], arguments[1:4:2]
    flags = arguments[4] & 0xFFFFFFFF if call.number == SYS_RENAMEAT2 else 0
    if flags & ~NO_REPLACE:
        return None
    try:
        memory = os.open(f"/proc/{call.thread}/mem", os.O_RDONLY | os.O_CLOEXEC)
        try:
            source, target = (_text(memory, address) for address in addresses)
        finally:
            os.close(memory)
    except (OSError, OverflowError, ValueError):
        return None
    source_at, target_at = (_place(call.thread, number) for number in places)
    return (source_at, source), (target_at, target), flags


def _text(memory: int, address: int) -> bytes:
    """Read the text that ends with a zero there.

    Raises:
        OSError, OverflowError, ValueError: it can't be read, or is not a path.
    """
    text, end, _ = os.pread(memory, PATH_BYTES_MAX, address).partition(b"\0")
    if not end or not text:
        raise ValueError("not a path")
    return text


def _place(thread: int, number: int) -> bytes:
    (fd,) = struct.unpack("=i", struct.pack("=I", number & 0xFFFFFFFF))
    return b"/proc/%d/cwd" % thread if fd == AT_FDCWD else b"/proc/%d/fd/%d" % (thread, fd)


RENAMES = frozenset((SYS_RENAME, SYS_RENAMEAT, SYS_RENAMEAT2))


class Notices:
    """The supervisor's ends of the filters of programs and all their processes.

    `fd` is readable when a process asks, also if it asks the cell's name server.
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
        """Serve another program, of this confinement, until none of its processes is left."""
        self._programs[listener] = program
        self._epoll.register(listener, select.EPOLLIN)
        hand_over_at_once(listener)

    def serve(self, main: int = -1) -> int | None:
        """Answer waiting calls; return the exit code if the process `main` is about to exit.

        Any other process continues to its end; `main` stays in the call until it is killed.
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
            except OSError:  # the caller was killed in the meantime
                continue
            if call.number == SYS_EXIT_GROUP and os.path.isdir(f"/proc/{main}/task/{call.thread}"):
                return call.arguments[0] & 0xFF
            self._answer(call, self._programs[listener])
        return None

    def _answer(self, call: HeldCall, program: Confinement) -> None:
        """Allow the calls named here, and those within a box's limits; refuse all others."""
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
        """Answer the calls whose worker processes are among these, by wait status."""
        if self._renames:
            self._renames.settle(ended)

    def _close(self, listener: int) -> None:
        """Close a listener that no process is left to ask on."""
        self._epoll.unregister(listener)
        del self._programs[listener]
        os.close(listener)


def of_cell(cell: BoxDescription, handles: Handles) -> Notices:
    """Make the notices of a cell's programs."""
    project, told = cell.get("project"), cell.get("told")
    renames = Renames(project["target"], handles.view) if project else None
    return Notices(renames, RefusedCounts(dict(told[1]) if told else {}), handles.names)
