"""Renames of folders in a copy-on-write project, where an unprivileged overlay answers EXDEV.

A folder that the run did not make would have to be redirected, which overlays do for root alone.
So it is moved piece by piece, by a process of its own under the program's very confinement: it can
do nothing that the program could not, whatever names and links it is led to by one that changes
them meanwhile. All that is read of a program here only says which calls are worth that.
"""

from __future__ import annotations

import errno
import os
import struct
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from . import moving
from .confine import Confinement, arrange_descriptors, confine, reset_signals
from .kernel import AT_FDCWD, SYS_RENAME, SYS_RENAMEAT, SYS_RENAMEAT2, HeldCall, StepError
from .proc import score
from .tree import mount_points

if TYPE_CHECKING:
    from .view import View

PATH_BYTES_MAX = 4096
MOVES_AT_ONCE = 4
NO_REPLACE = 1
PLACE = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC


class _Asked(NamedTuple):
    """A rename as it was asked for: each path, and the descriptor or folder it starts from."""

    source: bytes
    target: bytes
    source_at: bytes
    target_at: bytes
    flags: int


_Move = tuple[HeldCall, _Asked, Confinement]
"""A call that waits, what it asks for, and by what its program is confined."""


class Renames:
    """Those of one cell's programs, which see the project in this view.

    Without one, any folder is taken for one that the kernel can't rename.
    """

    def __init__(self, project: str, view: View | None = None) -> None:
        self._inside = os.fsencode(project) + b"/"
        self._view = view
        self._waiting: deque[_Move] = deque()
        self._moving: dict[int, HeldCall] = {}  # by the process that works on it

    def decide(self, call: HeldCall, program: Confinement) -> None:
        """Have the folder moved that this call is to rename; any other call goes on."""
        asked = _read(call)
        if asked and self._is_for_us(asked):
            self._waiting.append((call, asked, program))
            self._begin()
        else:
            call.go_on()

    def settle(self, ended: Mapping[int, int]) -> None:
        """Answer the calls on which these processes have worked."""
        for pid in self._moving.keys() & ended.keys():
            status = ended[pid]
            # It takes a signal only from a limit, or the end of the run.
            error = os.WEXITSTATUS(status) if os.WIFEXITED(status) else errno.EIO
            self._moving.pop(pid).answer(error)
        self._begin()

    def _is_for_us(self, asked: _Asked) -> bool:
        """Whether it is a folder of the project that the host knows by this name."""
        try:
            fd = os.open(os.path.join(asked.source_at, asked.source), PLACE | os.O_NOFOLLOW)
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
            except OSError:  # no such descriptor, or no room for a process
                move[0].go_on()

    def _start(self, move: _Move) -> None:
        places: list[int] = []
        call, asked, _ = move
        try:
            for at, path in ((asked.source_at, asked.source), (asked.target_at, asked.target)):
                places.append(os.open(b"/" if path.startswith(b"/") else at, PLACE))
            if not call.is_there():  # so these were another thread's
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
    """Be the program, do what it asked for, and end with the error of that."""
    status = errno.EIO
    try:
        reset_signals()
        os.umask(0o022)
        mounts = mount_points()
        arrange_descriptors(places[:1], places[1])
        _, asked, program = move
        confine(program)
        moving.rename((0, asked.source), (1, asked.target), asked.flags, mounts)
        status = 0
    except OSError as error:
        status = error.errno or errno.EIO
    except StepError:
        status = errno.EXDEV  # as the kernel would have said
    finally:
        os._exit(status)


def _read(call: HeldCall) -> _Asked | None:
    """What is asked for; None where that can't be read, or only the kernel can do it."""
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
    return _Asked(source, target, source_at, target_at, flags)


def _text(memory: int, address: int) -> bytes:
    """The text that ends with a zero there.

    Raises:
        OSError, OverflowError, ValueError: there is none, or it is no path.
    """
    text, end, _ = os.pread(memory, PATH_BYTES_MAX, address).partition(b"\0")
    if not end or not text:
        raise ValueError("not a path")
    return text


def _place(thread: int, number: int) -> bytes:
    (fd,) = struct.unpack("=i", struct.pack("=I", number & 0xFFFFFFFF))
    return b"/proc/%d/cwd" % thread if fd == AT_FDCWD else b"/proc/%d/fd/%d" % (thread, fd)
