"""Calls on a file's mode, owner, times and attributes, and watches of names in it (tier B).

Landlock checks none of them: a program could do all this to any file of its user. A filter can't
see which file a call names: a pointer leads to the path, and another thread may change it. So the
supervisor makes the call itself: it reads the path once, opens it, and acts on the opened file if
the program may write there. Reading attributes and watching need only read access.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import stat
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .kernel import AT_EMPTY_PATH, AT_FDCWD, HeldCall, copy_descriptor, libc

AT_SYMLINK_NOFOLLOW = 0x100
IN_DONT_FOLLOW = 0x02000000
PATH_BYTES_MAX, VALUE_BYTES_MAX, NAME_BYTES_MAX = 4096, 65536, 256
MILLION = 1_000_000


def do_file_call(name: str, asked: HeldCall, grants: Mapping[str, str]) -> int:
    """Make such a call. Return its result, or the negative number of its error.

    `grants` are Landlock's, by real path.
    """
    try:
        with contextlib.ExitStack() as stack:
            refusal = READING_CALLS.get(name, 0)
            return CALLS[name](_Call(asked, grants, refusal, stack)) or 0
    except OSError as error:
        return -(error.errno or errno.EIO)


@dataclass(frozen=True, slots=True)
class _Call:
    """A call: its arguments, and the files they name."""

    asked: HeldCall
    grants: Mapping[str, str]
    refusal: int  # of a call that reads, see `READING_CALLS`
    stack: contextlib.ExitStack

    def number(self, place: int) -> int:
        return ctypes.c_int(self.asked.arguments[place]).value

    def memory(self, place: int, size: int) -> bytes:
        """Read memory that an argument points to, up to `size` bytes."""
        fd = os.open(f"/proc/{self.asked.thread}/mem", os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.pread(fd, size, self.asked.arguments[place])
        except OverflowError as error:
            raise OSError(errno.EFAULT, "") from error
        finally:
            os.close(fd)

    def text(self, place: int, size: int) -> bytes:
        """Read a text that an argument points to, up to the byte 0."""
        found, end, _ = self.memory(place, size).partition(b"\0")
        if not end:
            raise OSError(errno.ENAMETOOLONG if len(found) == size else errno.EFAULT, "")
        return found

    def by_fd(self, place: int) -> str:
        """Return the path by which this process can act on a file that the program has open."""
        return self._permit(self._open(f"/proc/{self.asked.thread}/fd/{self.number(place)}"))

    def by_path(self, place: int, folder: int | None = None, flags: int = 0) -> str:
        """Return that of a path; relative ones start in the folder of this descriptor, or cwd."""
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
        """Return a path as the program means it: `self` in it is the program, not this process."""
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
        """Check that the program may write to an open file, or for a reading call read it.

        Raises:
            OSError: it may not.
        """
        place = os.readlink(f"/proc/self/fd/{fd}")
        is_own = not place.startswith("/") or place.startswith("/memfd:")  # in no file system
        if not (is_own or self._is_granted(place)):
            raise OSError(self.refusal or errno.EACCES, "")
        self._see_waiting()
        return f"/proc/self/fd/{fd}"

    def _is_granted(self, place: str) -> bool:
        if self.refusal and place in self.grants:
            return True
        wanted = ("r", "rw") if self.refusal else ("rw",)
        above = [place[:at] for at, letter in enumerate(place) if letter == "/" and at]
        return any(self.grants.get(top) in wanted for top in ("/", *above, place))

    def _see_waiting(self) -> None:
        """Check that the thread still waits, so that the number opened was not reused.

        Raises:
            PermissionError: it does not wait.
        """
        if not self.asked.is_there():
            raise PermissionError(errno.EACCES, "")

    def chmod(self, file: str, mode: int) -> None:
        if stat.S_ISLNK(os.stat(file).st_mode):
            raise OSError(errno.EOPNOTSUPP, "")
        os.chmod(file, self.number(mode) & 0o7777)

    def chown(self, file: str, user: int) -> None:
        os.chown(file, self.number(user), self.number(user + 1))

    def touch(self, file: str, place: int, fraction_ns: int) -> None:
        """Set both times, to now if none are given.

        `fraction_ns` is the unit of their fractions; 0 if they are whole seconds.
        """
        times = None
        if self.asked.arguments[place]:
            layout = "=4q" if fraction_ns else "=2q"
            given = self.memory(place, struct.calcsize(layout))
            if len(given) < struct.calcsize(layout):
                raise OSError(errno.EFAULT, "")
            read = struct.unpack(layout, given)
            first, part, later, its_part = read if fraction_ns else (read[0], 0, read[1], 0)
            if fraction_ns > 1:
                if not (0 <= part < MILLION and 0 <= its_part < MILLION):
                    raise OSError(errno.EINVAL, "")
                part, its_part = part * fraction_ns, its_part * fraction_ns
            times = struct.pack("=4q", first, part, later, its_part)
        _check(libc.utimensat(AT_FDCWD, file.encode(), times, 0))

    def set_attribute(self, file: str, place: int) -> None:
        name, size = self.text(place, NAME_BYTES_MAX), self.asked.arguments[place + 2]
        if size > VALUE_BYTES_MAX:
            raise OSError(errno.E2BIG, "")
        value = self.memory(place + 1, size) if size else b""
        os.setxattr(file, name, value, self.number(place + 3))

    def remove_attribute(self, file: str, place: int) -> None:
        os.removexattr(file, self.text(place, NAME_BYTES_MAX))

    def read_attribute(self, file: str) -> int:
        return self._give(2, os.getxattr(file, self.text(1, NAME_BYTES_MAX)))

    def list_attributes(self, file: str) -> int:
        return self._give(1, b"".join(os.fsencode(name) + b"\0" for name in os.listxattr(file)))

    def _give(self, place: int, content: bytes) -> int:
        """Write to where an argument points; the next argument is the room there, or 0 to ask."""
        room = self.asked.arguments[place + 1]
        if room and content:
            if room < len(content):
                raise OSError(errno.ERANGE, "")
            memory = os.open(f"/proc/{self.asked.thread}/mem", os.O_WRONLY | os.O_CLOEXEC)
            self.stack.callback(os.close, memory)
            self._see_waiting()
            written = 0
            with contextlib.suppress(OSError, OverflowError):
                written = os.pwrite(memory, content, self.asked.arguments[place])
            if written < len(content):
                raise OSError(errno.EFAULT, "")
        return len(content)

    def watch(self) -> int:
        """Add a watch to the program's own inotify instance."""
        mask = self.asked.arguments[2] & 0xFFFFFFFF
        file = self.by_path(1, None, NO_FOLLOW if mask & IN_DONT_FOLLOW else 0)
        instance = copy_descriptor(self.asked.thread, self.number(0))
        self.stack.callback(os.close, instance)
        self._see_waiting()
        added = libc.inotify_add_watch(
            instance, file.encode(), ctypes.c_uint32(mask & ~IN_DONT_FOLLOW)
        )
        _check(added)
        return int(added)


def _utimensat(call: _Call) -> None:
    """Set a file's times; without a path, those of the descriptor's own file."""
    flags = call.number(3)
    file = call.by_path(1, 0, flags) if call.asked.arguments[1] else call.by_fd(0)
    call.touch(file, 2, 1)


def _check(result: int) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), "")


NO_FOLLOW = AT_SYMLINK_NOFOLLOW
# The error with which each reading call is refused: `ls` and `cp` take it for a file system without
# attributes.
READING_CALLS: Mapping[str, int] = {
    **dict.fromkeys(("getxattr", "lgetxattr", "listxattr", "llistxattr"), errno.EOPNOTSUPP),
    "inotify_add_watch": errno.EACCES,
}
CALLS: Mapping[str, Callable[[_Call], int | None]] = {
    "chmod": lambda call: call.chmod(call.by_path(0), 1),
    "fchmod": lambda call: call.chmod(call.by_fd(0), 1),
    "fchmodat": lambda call: call.chmod(call.by_path(1, 0), 2),
    "fchmodat2": lambda call: call.chmod(call.by_path(1, 0, call.number(3)), 2),
    "chown": lambda call: call.chown(call.by_path(0), 1),
    "lchown": lambda call: call.chown(call.by_path(0, None, NO_FOLLOW), 1),
    "fchown": lambda call: call.chown(call.by_fd(0), 1),
    "fchownat": lambda call: call.chown(call.by_path(1, 0, call.number(4)), 2),
    "utime": lambda call: call.touch(call.by_path(0), 1, 0),
    "utimes": lambda call: call.touch(call.by_path(0), 1, 1000),
    "futimesat": lambda call: call.touch(call.by_path(1, 0), 2, 1000),
    "utimensat": _utimensat,
    "setxattr": lambda call: call.set_attribute(call.by_path(0), 1),
    "lsetxattr": lambda call: call.set_attribute(call.by_path(0, None, NO_FOLLOW), 1),
    "fsetxattr": lambda call: call.set_attribute(call.by_fd(0), 1),
    "removexattr": lambda call: call.remove_attribute(call.by_path(0), 1),
    "lremovexattr": lambda call: call.remove_attribute(call.by_path(0, None, NO_FOLLOW), 1),
    "fremovexattr": lambda call: call.remove_attribute(call.by_fd(0), 1),
    "getxattr": lambda call: call.read_attribute(call.by_path(0)),
    "lgetxattr": lambda call: call.read_attribute(call.by_path(0, None, NO_FOLLOW)),
    "listxattr": lambda call: call.list_attributes(call.by_path(0)),
    "llistxattr": lambda call: call.list_attributes(call.by_path(0, None, NO_FOLLOW)),
    "inotify_add_watch": lambda call: call.watch(),
}
