"""Copying the content of an open file to a new one."""

from __future__ import annotations

import errno
import os
import stat

SMALL_BYTES = 1 << 17
CHUNK_BYTES = 1 << 20
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# What the kernel says where it can't copy between two files by itself.
_UNABLE = frozenset(
    {errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM, errno.ETXTBSY}
)


def copy(source: int, target: int) -> None:
    """Copy all of a file but its holes, sharing blocks where the file system can.

    That is what copy_file_range(2) does. To share what was just written the file system first
    brings it to the disk, so that small files are copied by hand.

    Raises:
        OSError: it is not a regular file, or can't be read or written.
    """
    info = os.fstat(source)
    if not stat.S_ISREG(info.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file")
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
    """Copy the bytes from `at` to `end`; where it came to, as the file may end before."""
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
