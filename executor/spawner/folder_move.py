"""Moving a folder entry by entry, with the effect of rename(2), if the kernel answers EXDEV."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import stat
import time
from collections.abc import Collection, Iterator

from .kernel import SYS_RENAMEAT2, libc

WORK_S_MAX = 60.0  # after which everything is moved back
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

Path = tuple[int, bytes]  # the folder where it starts, and the path


def rename(source: Path, target: Path, flags: int, mounts: Collection[str]) -> None:
    """Do what renameat2(2) does, which is tried first; `mounts` are all mount points.

    Raises:
        OSError: its error. Also EXDEV if a folder's owner, depth or the time does not allow a move.
    """
    try:
        _rename(source, target, flags)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        # The kernel has already checked names, rights, and that neither path contains the other.
        _Moved(_NamedEntry(source), _NamedEntry(target), mounts).go(may_replace=not flags)


def _rename(source: Path, target: Path, flags: int = 0) -> None:
    (source_at, old), (target_at, new) = source, target
    places = ctypes.c_long(source_at), ctypes.c_long(target_at)
    result = libc.syscall(ctypes.c_long(SYS_RENAMEAT2), places[0], old, places[1], new, flags)
    if result < 0:
        raise _error(ctypes.get_errno())


def _error(code: int) -> OSError:
    return OSError(code, os.strerror(code))


class _NamedEntry:
    """A name in an open folder, so that paths below it stay reachable."""

    def __init__(self, path: Path) -> None:
        start, text = path
        above, slash, name = text.rstrip(b"/").rpartition(b"/")
        flags = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
        self.at = os.open(above + slash or b".", flags, dir_fd=start)
        self.name = name
        self.above = os.fsdecode(os.readlink(b"/proc/self/fd/%d" % self.at)).rstrip("/")
        self.absolute = f"{self.above}/{os.fsdecode(name)}"

    def __truediv__(self, below: bytes) -> Path:
        """Return the path of an entry below; of this entry itself if `below` is empty."""
        return self.at, self.name + b"/" + below if below else self.name


_FormerFolder = tuple[bytes, os.stat_result, dict[str, bytes]]
"""The path of a folder, its state before anything was moved, and its attributes."""


def _dress(former: _FormerFolder, place: Path) -> None:
    """Give another folder the mode, times and attributes that renaming would have kept."""
    _, info, attributes = former
    at, path = place
    fd = os.open(path, FOLDER, dir_fd=at)
    try:
        for name, value in attributes.items():
            with _unless_of_users(name):
                os.setxattr(fd, name, value)
        os.fchmod(fd, stat.S_IMODE(info.st_mode))
        os.utime(fd, ns=(info.st_atime_ns, info.st_mtime_ns))
    finally:
        os.close(fd)


class _Moved:
    """A folder being moved. A failure before `go` has returned is undone."""

    def __init__(self, source: _NamedEntry, target: _NamedEntry, mounts: Collection[str]) -> None:
        self._source = source
        self._target = target
        self._until = time.monotonic() + WORK_S_MAX
        self._check_mounts(mounts)
        self._folders = list(self._list_folders())
        self._emptied: list[_FormerFolder] = []  # those that could not be renamed as a whole
        self._renamed: list[bytes] = []
        self._replaced: _FormerFolder | None = None

    def go(self, *, may_replace: bool) -> None:
        try:
            if may_replace:
                self._make_room()
            self._move()
            self._end()
        except BaseException:
            self._undo()
            raise

    def _check_mounts(self, mounts: Collection[str]) -> None:
        """Refuse mounts inside, as over a secret: they can't move along and would be uncovered."""
        source, target = self._source, self._target
        if _mount_of(source.above, mounts) != _mount_of(target.above, mounts):
            raise _error(errno.EXDEV)
        if any(point.startswith(f"{source.absolute}/") for point in mounts):
            raise _error(errno.EBUSY)

    def _list_folders(self) -> Iterator[_FormerFolder]:
        """List all folders, each before those in it."""
        pending = [b""]
        while pending:
            path = pending.pop()
            folder, below = _look(self._source / path, path)
            if folder[1].st_uid != os.geteuid():
                raise _error(errno.EXDEV)  # it could neither be emptied nor created again
            yield folder
            pending += below
            self._check_time()

    def _make_room(self) -> None:
        """Remove an empty folder that is to be replaced; the kernel refuses if it is not empty."""
        at, path = self._target / b""
        with contextlib.suppress(FileNotFoundError):
            self._replaced, _ = _look((at, path), b"")
            os.rmdir(path, dir_fd=at)

    def _move(self) -> None:
        whole: set[bytes] = set()
        known = {path for path, _, _ in self._folders}
        for folder in self._folders:
            path = folder[0]
            with_another = os.path.dirname(path) in whole
            if with_another or (path and self._has_moved(path)):
                whole.add(path)
            else:
                self._empty(folder, known)

    def _empty(self, folder: _FormerFolder, known: Collection[bytes]) -> None:
        """Move all but the folders that come later into a new folder of the same name."""
        relative, info, _ = folder
        at, path = self._target / relative
        os.mkdir(path, 0o700, dir_fd=at)
        self._emptied.append(folder)
        at, path = self._source / relative
        if info.st_mode & stat.S_IRWXU != stat.S_IRWXU:
            os.chmod(path, info.st_mode & 0o7777 | stat.S_IRWXU, dir_fd=at)
        for name in _names(at, path):
            below = _join(relative, name)
            if below not in known and not self._has_moved(below):
                raise _error(errno.EXDEV)  # a folder created after this move started

    def _has_moved(self, path: bytes) -> bool:
        """Rename an entry if possible: a file, a link, or a folder that the run made.

        Not a folder without write permission: the kernel must write its new parent into it.
        """
        self._check_time()
        try:
            _rename(self._source / path, self._target / path)
        except OSError as error:
            if error.errno not in (errno.EXDEV, errno.EACCES):
                raise
            return False
        self._renamed.append(path)
        return True

    def _end(self) -> None:
        """Remove the emptied folders, and give the new ones their mode, times and attributes."""
        for folder in reversed(self._emptied):
            _dress(folder, self._target / folder[0])
        for relative, _, _ in reversed(self._emptied):
            at, path = self._source / relative
            os.rmdir(path, dir_fd=at)

    def _undo(self) -> None:
        """Move everything back, where possible."""
        for relative, _, _ in self._emptied:
            at, path = self._source / relative
            with contextlib.suppress(OSError):
                os.mkdir(path, 0o700, dir_fd=at)
            at, path = self._target / relative
            with contextlib.suppress(OSError):
                os.chmod(path, 0o700, dir_fd=at)
        for below in reversed(self._renamed):
            with contextlib.suppress(OSError):
                _rename(self._target / below, self._source / below)
        for folder in reversed(self._emptied):
            with contextlib.suppress(OSError):
                _dress(folder, self._source / folder[0])
            at, path = self._target / folder[0]
            with contextlib.suppress(OSError):
                os.rmdir(path, dir_fd=at)
        if self._replaced:
            at, path = self._target / b""
            with contextlib.suppress(OSError):
                os.mkdir(path, 0o700, dir_fd=at)
                _dress(self._replaced, (at, path))

    def _check_time(self) -> None:
        if time.monotonic() > self._until:
            raise _error(errno.EXDEV)


def _look(place: Path, path: bytes) -> tuple[_FormerFolder, list[bytes]]:
    """Return a folder's state, and the paths of the folders in it."""
    at, name = place
    try:
        fd = os.open(name, FOLDER, dir_fd=at)
    except PermissionError as error:
        raise _error(errno.EXDEV) from error  # an unreadable folder can't be created again
    try:
        attributes = {}
        for attribute in os.listxattr(fd):
            with _unless_of_users(attribute):
                attributes[attribute] = os.getxattr(fd, attribute)
        with os.scandir(fd) as entries:
            folders = [e.name for e in entries if e.is_dir(follow_symlinks=False)]
        info = os.fstat(fd)
    finally:
        os.close(fd)
    return (path, info, attributes), [_join(path, os.fsencode(n)) for n in folders]


@contextlib.contextmanager
def _unless_of_users(attribute: str) -> Iterator[None]:
    """Ignore errors for attributes that are not `user.`: the system may not give access."""
    try:
        yield
    except OSError:
        if attribute.startswith("user."):
            raise


def _names(at: int, path: bytes) -> list[bytes]:
    fd = os.open(path, FOLDER, dir_fd=at)
    try:
        return [os.fsencode(name) for name in os.listdir(fd)]
    finally:
        os.close(fd)


def _join(folder: bytes, name: bytes) -> bytes:
    return folder + b"/" + name if folder else name


def _mount_of(folder: str, mounts: Collection[str]) -> str:
    above = (point for point in mounts if f"{folder}/".startswith(f"{point.rstrip('/')}/"))
    return max(above, key=len, default="/")
