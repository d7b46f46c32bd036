"""Contents and attributes of files: compared or copied, even if they change during that."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat

from executor.project.view.record import EntryState, state_of
from executor.project.view.tree import Tree

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
