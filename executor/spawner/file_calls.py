"""Calls that change what a file is called to be: mode, owner, times, attributes (tier B).

Landlock judges none of them, so that a program could do all this to any file of its user. A filter
can't see which file is meant: it stands behind a pointer, which another thread may change. So the
supervisor does the call itself: it reads the path once and opens what that names now. It acts on
what it has open, if that lies where the program may write.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import stat
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from .kernel import AT_EMPTY_PATH, AT_FDCWD, libc
from .notification import Notification, is_waiting

AT_SYMLINK_NOFOLLOW = 0x100
PATH_BYTES_MAX, VALUE_BYTES_MAX, NAME_BYTES_MAX = 4096, 65536, 256


@dataclass(frozen=True, slots=True)
class FileCalls:
    """Does such calls for the programs of one step. `writable` are real paths."""

    listener: int
    writable: Sequence[str]

    def do(self, name: str, asked: Notification) -> int:
        """The error number with which the call ends; 0 if it was done."""
        try:
            with contextlib.ExitStack() as stack:
                CALLS[name](_Call(asked, self, stack))
        except OSError as error:
            return error.errno or errno.EIO
        return 0

    def permit(self, fd: int, asked: Notification) -> None:
        """See that an open file is one that the program may write to, and that it still asks.

        Raises:
            PermissionError: it is not.
        """
        place = os.readlink(f"/proc/self/fd/{fd}")
        is_own = not place.startswith("/") or place.startswith("/memfd:")  # no file system has it
        inside = any(place == top or place.startswith(f"{top}/") for top in self.writable)
        if not (is_own or inside) or not is_waiting(self.listener, asked):
            raise PermissionError(errno.EACCES, "")


@dataclass(frozen=True, slots=True)
class _Call:
    """One call: its arguments, and what they lead to."""

    asked: Notification
    calls: FileCalls
    stack: contextlib.ExitStack

    def number(self, place: int) -> int:
        return ctypes.c_int(self.asked.arguments[place]).value

    def memory(self, place: int, size: int) -> bytes:
        """What an argument points to, at most that much of it."""
        fd = os.open(f"/proc/{self.asked.thread}/mem", os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.pread(fd, size, self.asked.arguments[place])
        except OverflowError as error:
            raise OSError(errno.EFAULT, "") from error
        finally:
            os.close(fd)

    def text(self, place: int, size: int) -> bytes:
        """What it points to, up to the byte 0."""
        found, end, _ = self.memory(place, size).partition(b"\0")
        if not end:
            raise OSError(errno.ENAMETOOLONG if len(found) == size else errno.EFAULT, "")
        return found

    def by_fd(self, place: int) -> str:
        """The file that a descriptor of the program has open, for this process to act on."""
        return self._permit(self._open(f"/proc/{self.asked.thread}/fd/{self.number(place)}"))

    def by_path(self, place: int, folder: int | None = None, flags: int = 0) -> str:
        """The file at a path; relative ones start in the folder of this descriptor, or the cwd."""
        if flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH):
            raise OSError(errno.EINVAL, "")
        path = self.text(place, PATH_BYTES_MAX)
        if not path:
            if not flags & AT_EMPTY_PATH or folder is None:
                raise OSError(errno.ENOENT, "")
            if self.number(folder) != AT_FDCWD:
                return self.by_fd(folder)
            path = b"."
        follow = 0 if flags & AT_SYMLINK_NOFOLLOW else 1
        base = "cwd"
        if folder is not None and self.number(folder) != AT_FDCWD:
            base = f"fd/{self.number(folder)}"
        start = None if path.startswith(b"/") else self._open(f"/proc/{self.asked.thread}/{base}")
        return self._permit(self._open(self._own(path), start, follow=bool(follow)))

    def _own(self, path: bytes) -> bytes:
        """A path as the program means it, to whom `self` is another process."""
        thread = str(self.asked.thread).encode()
        for name, own in {
            b"/proc/self/": b"/proc/%b/" % thread,
            b"/proc/thread-self/": b"/proc/%b/" % thread,
            b"/dev/fd/": b"/proc/%b/fd/" % thread,
        }.items():
            if path.startswith(name):
                return own + path[len(name) :]
        return path

    def _open(self, path: str | bytes, start: int | None = None, *, follow: bool = True) -> int:
        flags = os.O_PATH | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
        fd = os.open(path, flags, dir_fd=start)
        self.stack.callback(os.close, fd)
        return fd

    def _permit(self, fd: int) -> str:
        self.calls.permit(fd, self.asked)
        return f"/proc/self/fd/{fd}"

    def chmod(self, file: str, mode: int) -> None:
        if stat.S_ISLNK(os.stat(file).st_mode):
            raise OSError(errno.EOPNOTSUPP, "")
        os.chmod(file, self.number(mode) & 0o7777)

    def chown(self, file: str, user: int) -> None:
        os.chown(file, self.number(user), self.number(user + 1))

    def touch(self, file: str, place: int, layout: str) -> None:
        """Set both times, to now where none are given. `layout`: of their seconds and fractions."""
        times = None
        if self.asked.arguments[place]:
            size = struct.calcsize(layout)
            given = self.memory(place, size)
            if len(given) < size:
                raise OSError(errno.EFAULT, "")
            times = _timespecs(struct.unpack(layout, given))
        _check(libc.utimensat(AT_FDCWD, file.encode(), times, 0))

    def set_attribute(self, file: str, place: int) -> None:
        name, size = self.text(place, NAME_BYTES_MAX), self.asked.arguments[place + 2]
        if size > VALUE_BYTES_MAX:
            raise OSError(errno.E2BIG, "")
        value = self.memory(place + 1, size) if size else b""
        os.setxattr(file, name, value, self.number(place + 3))

    def remove_attribute(self, file: str, place: int) -> None:
        os.removexattr(file, self.text(place, NAME_BYTES_MAX))


def _timespecs(times: tuple[int, ...]) -> bytes:
    """Two struct timespec, of seconds alone, or of seconds with micro- or nanoseconds."""
    if len(times) == 2:
        return struct.pack("=4q", times[0], 0, times[1], 0)
    return struct.pack("=4q", *times[:4])


def _microseconds(call: _Call, file: str, place: int) -> None:
    """As `touch`, of two struct timeval."""
    times = None
    if call.asked.arguments[place]:
        seconds, part, later, its_part = struct.unpack("=4q", call.memory(place, 32).ljust(32))
        if not (0 <= part < 1_000_000 and 0 <= its_part < 1_000_000):
            raise OSError(errno.EINVAL, "")
        times = struct.pack("=4q", seconds, part * 1000, later, its_part * 1000)
    _check(libc.utimensat(AT_FDCWD, file.encode(), times, 0))


def _utimensat(call: _Call) -> None:
    """Without a path it is the descriptor's own file."""
    flags = call.number(3)
    file = call.by_path(1, 0, flags) if call.asked.arguments[1] else call.by_fd(0)
    call.touch(file, 2, "=4q")


def _check(result: int) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), "")


NO_FOLLOW = AT_SYMLINK_NOFOLLOW
CALLS: Mapping[str, Callable[[_Call], None]] = {
    "chmod": lambda call: call.chmod(call.by_path(0), 1),
    "fchmod": lambda call: call.chmod(call.by_fd(0), 1),
    "fchmodat": lambda call: call.chmod(call.by_path(1, 0), 2),
    "fchmodat2": lambda call: call.chmod(call.by_path(1, 0, call.number(3)), 2),
    "chown": lambda call: call.chown(call.by_path(0), 1),
    "lchown": lambda call: call.chown(call.by_path(0, None, NO_FOLLOW), 1),
    "fchown": lambda call: call.chown(call.by_fd(0), 1),
    "fchownat": lambda call: call.chown(call.by_path(1, 0, call.number(4)), 2),
    "utime": lambda call: call.touch(call.by_path(0), 1, "=2q"),
    "utimes": lambda call: _microseconds(call, call.by_path(0), 1),
    "futimesat": lambda call: _microseconds(call, call.by_path(1, 0), 2),
    "utimensat": _utimensat,
    "setxattr": lambda call: call.set_attribute(call.by_path(0), 1),
    "lsetxattr": lambda call: call.set_attribute(call.by_path(0, None, NO_FOLLOW), 1),
    "fsetxattr": lambda call: call.set_attribute(call.by_fd(0), 1),
    "removexattr": lambda call: call.remove_attribute(call.by_path(0), 1),
    "lremovexattr": lambda call: call.remove_attribute(call.by_path(0, None, NO_FOLLOW), 1),
    "fremovexattr": lambda call: call.remove_attribute(call.by_fd(0), 1),
}
