"""A tree of any names below an open folder: accessed and walked without following links. Its files
are compared or copied even if they change during that."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

DEPTH_MAX = 128
FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


_STATE = attrgetter("st_mode", "st_size", "st_mtime_ns", "st_ctime_ns", "st_ino")


class EntryState(NamedTuple):
    """The state of one entry; every write to it changes one of these."""

    mode: int
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


def state_of(info: os.stat_result) -> EntryState:
    """Return the parts of the kernel's data on an entry that change with it."""
    # Like its own constructor, in a third of the time.
    return tuple.__new__(EntryState, _STATE(info))


_OpenFolder = tuple[str, int, list[os.DirEntry[str]]]


def walk(
    top: int, enters: Callable[[str], bool], unreadable: Callable[[str], None]
) -> Iterator[_OpenFolder]:
    """Yield every folder from `top` on, before its contents: the relative path with a slash, or ""
    for the top; a descriptor, which is closed afterwards; and the entries.

    `enters` gets the path of each folder below, after the folder that contains it was yielded.
    `unreadable` gets the paths of folders that can't be opened, or are too deep.
    """

    def go_through(descriptor: int, prefix: str) -> Iterator[_OpenFolder]:
        try:
            with os.scandir(descriptor) as scan:
                entries = list(scan)
            yield prefix, descriptor, entries
            for name in sorted(e.name for e in entries if e.is_dir(follow_symlinks=False)):
                path = prefix + name
                if not enters(path):
                    continue
                try:
                    is_near = path.count("/") < DEPTH_MAX
                    inner = os.open(name, FOLDER_FLAGS, dir_fd=descriptor) if is_near else -1
                except OSError:  # no permission; or replaced by something else in the meantime
                    inner = -1
                if inner < 0:
                    unreadable(path)
                else:
                    yield from go_through(inner, f"{path}/")
        finally:
            os.close(descriptor)

    yield from go_through(os.open(".", FOLDER_FLAGS, dir_fd=top), "")


def in_tree_order(path: str) -> str:
    """Return a key that sorts folders before their contents, and those before the next entry."""
    return path.replace("/", "\0")


def split(path: str) -> tuple[str, str]:
    """Return the folder of a path, empty at the top, and its name there."""
    folder, _, name = path.rpartition("/")
    return folder, name


def find_inside(place: str, top: str) -> str:
    """Return the relative path of an absolute one; "" for the top and for paths outside."""
    return place[len(top) + 1 :] if place.startswith(f"{top}/") else ""


class Tree:
    """A folder and all below it, by descriptors: a link on a path is an error, whatever its target.

    Descriptors of the last path's folders stay open, so that access in order is fast.
    """

    def __init__(self, top: int) -> None:
        """Use `top`, a descriptor that the caller closes after this tree."""
        self.top = top
        self._chain: list[tuple[str, int]] = []

    def __enter__(self) -> Tree:
        return self

    def __exit__(self, *_: object) -> None:
        self.forget()

    def forget(self, down_to: int = 0) -> None:
        """Close open folders, because the entries reached through them may have moved."""
        while len(self._chain) > down_to:
            with contextlib.suppress(OSError):
                os.close(self._chain.pop()[1])

    def folder(self, path: str) -> int:
        """Return a descriptor of a folder, valid until the next call.

        Raises:
            OSError: it is missing, not a folder, or its path has a link.
        """
        if not path:
            return self.top
        while self._chain and not f"{path}/".startswith(f"{self._chain[-1][0]}/"):
            self.forget(len(self._chain) - 1)
        at, descriptor = self._chain[-1] if self._chain else ("", self.top)
        rest = path[len(at) + 1 :] if at else path
        for name in rest.split("/") if path != at else ():
            if name in ("", ".", ".."):
                raise ValueError(f"not a plain relative path: {path!r}")
            descriptor = os.open(name, FOLDER_FLAGS, dir_fd=descriptor)
            at = f"{at}/{name}" if at else name
            self._chain.append((at, descriptor))
        return descriptor

    def info(self, path: str) -> os.stat_result | None:
        """Return the state of an entry, not of a link's target; None if it can't be reached."""
        folder, name = split(path)
        try:
            return os.stat(name, dir_fd=self.folder(folder), follow_symlinks=False)
        except OSError:
            return None

    def open(self, path: str) -> int:
        """Open a regular file for reading; do not wait for a FIFO's other end.

        Raises:
            OSError: it is missing, a link, or can't be read.
        """
        folder, name = split(path)
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
        return os.open(name, flags, dir_fd=self.folder(folder))

    @contextlib.contextmanager
    def opened(self, path: str) -> Iterator[int]:
        """Open a file as `open` does, until the block ends."""
        descriptor = self.open(path)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def target(self, path: str) -> str:
        """Return the target of a link, as written.

        Raises:
            OSError: it is not a link.
        """
        folder, name = split(path)
        return os.readlink(name, dir_fd=self.folder(folder))


@contextlib.contextmanager
def open_tree(folder: Path) -> Iterator[Tree]:
    """Open a folder as a tree, for as long as a block lasts.

    Raises:
        OSError: it can't be opened.
    """
    top = os.open(folder, FOLDER_FLAGS)
    try:
        with Tree(top) as tree:
            yield tree
    finally:
        os.close(top)


Attributes = tuple[tuple[str, bytes], ...]
_OVERLAYS = "user.overlay."
OPAQUE = ("user.overlay.opaque", "trusted.overlay.opaque")
# An upper layer that is partly elsewhere, or incomplete, is not one that we can read. If a program
# uses these names, the kernel adds another `overlay.`.
UNREADABLE = frozenset(
    f"{space}.overlay.{what}" for space in ("user", "trusted") for what in ("redirect", "metacopy")
)


def attributes(place: int | str) -> Attributes:
    """Read the attributes of an open file, or of a path that is not a link, sorted by name."""
    try:
        names = os.listxattr(place)
    except OSError:
        return ()
    own = sorted(n for n in names if n.startswith("user.") and not n.startswith(_OVERLAYS))
    return tuple((name, os.getxattr(place, name)) for name in own)


def set_attributes(place: int | str, wanted: Attributes) -> None:
    """Give a file, not a link, exactly these attributes; ignore file systems without attributes."""
    present = dict(attributes(place))
    with contextlib.suppress(OSError):
        for name, value in wanted:
            if present.pop(name, None) != value:
                os.setxattr(place, name, value)
        for name in present:
            os.removexattr(place, name)


def remove_layers(descriptor: int) -> None:
    """Remove an overlay's own attributes from a file.

    Raises:
        OSError: one can't be removed.
    """
    try:
        names = os.listxattr(descriptor)
    except OSError:
        return
    for name in names:
        if name.startswith(_OVERLAYS):
            os.removexattr(descriptor, name)


def is_opaque(descriptor: int) -> bool:
    """Return whether a folder of an upper layer hides everything below it.

    Raises:
        OSError: it is not a plain upper folder.
    """
    try:
        names = os.listxattr(descriptor)
    except OSError as error:
        if error.errno == errno.ENOTSUP:
            return False
        raise
    values = {os.getxattr(descriptor, name) for name in OPAQUE if name in names}
    if values - {b"y"} or not UNREADABLE.isdisjoint(names):
        raise OSError(errno.EUCLEAN, "the upper layer is incomplete")
    return bool(values)


CHUNK_BYTES = 1 << 20


def same_content(here: Tree, there: Tree, path: str, was: EntryState) -> bool:
    """Return whether a file has the same bytes in two trees; False if `there` it changed."""
    try:
        with here.opened(path) as one, there.opened(path) as other:
            return state_of(os.fstat(other)) == was and have_same_bytes(one, other)
    except OSError:
        return False


def have_same_bytes(one: int, other: int) -> bool:
    """Return whether the rest of two open files is the same.

    Raises:
        OSError: one can't be read.
    """
    while chunk := os.read(one, CHUNK_BYTES):
        if read_up_to(other, len(chunk)) != chunk:
            return False
    return not os.read(other, 1)


def read_up_to(descriptor: int, size: int) -> bytes:
    """Read an open file from its position: `size` bytes, or up to its end.

    Raises:
        OSError: reading failed.
    """
    data = os.read(descriptor, size)
    while len(data) < size and (more := os.read(descriptor, size - len(data))):
        data += more
    return data


def digest_file(tree: Tree, path: str, kind: str = "sha256", preamble: bytes = b"") -> str:
    """Compute the digest, in hexadecimal, of a preamble and a regular file's content.

    Raises:
        OSError: it is not a regular file, or can't be read.
    """
    with tree.opened(path) as descriptor:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"not a regular file: {path!r}")
        made = hashlib.new(kind, preamble, usedforsecurity=kind == "sha256")
        while chunk := os.read(descriptor, CHUNK_BYTES):
            made.update(chunk)
        return made.hexdigest()


def read_some(tree: Tree, path: str, bytes_max: int) -> bytes | None:
    """Read a small regular file: b"" if it is missing; None if it is larger, or not a file."""
    if tree.info(path) is None:
        return b""
    try:
        with tree.opened(path) as descriptor:
            is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
            data = read_up_to(descriptor, bytes_max + 1) if is_file else None
    except OSError:
        return None
    return None if data is None or len(data) > bytes_max else data


SMALL_BYTES = 1 << 17

NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# The kernel's errors if it can't copy between two files by itself.
_UNABLE = frozenset(
    {errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM, errno.ETXTBSY}
)


def copy(source: int, target: int) -> None:
    """Copy a file except its holes, sharing blocks if the file system can.

    copy_file_range(2) does that. To share blocks just written, the file system first writes them
    to disk: so small files are copied by hand.

    Raises:
        OSError: it is not a regular file, or can't be read or written.
    """
    info = os.fstat(source)
    if not stat.S_ISREG(info.st_mode):
        raise OSError(errno.EINVAL, "not a regular file")
    at, size = 0, info.st_size
    if 0 < size <= SMALL_BYTES:
        at = os.write(target, os.read(source, size))
    while at < size:
        try:
            at = os.lseek(source, at, os.SEEK_DATA)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            os.ftruncate(target, size)  # only a hole is left
            return
        at = _pass_on(source, target, at, os.lseek(source, at, os.SEEK_HOLE))


def _pass_on(source: int, target: int, at: int, end: int) -> int:
    """Copy the bytes from `at` to `end`; return the end reached, as the file may be shorter."""
    while at < end:
        passed = 0
        try:
            passed = os.copy_file_range(source, target, end - at, at, at)
        except OSError as error:
            if error.errno not in _UNABLE:
                raise
        passed = passed or os.pwrite(target, os.pread(source, min(end - at, CHUNK_BYTES), at), at)
        if not passed:
            break
        at += passed
    return at
