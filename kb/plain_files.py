"""Opening a file that a program may exchange for another at any moment."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO


def read_plain(path: Path, bytes_max: int, root: Path = Path("/")) -> bytes:
    """All of a regular file, wherever below `root`, a real path, links lead to it.

    Raises:
        OSError: it is something else, larger, or can't be opened.
    """
    if not stat.S_ISREG(path.stat().st_mode):  # opening alone sets some devices off
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    with open_plain(path, root) as file:
        data = file.read(bytes_max + 1)
    if len(data) > bytes_max:
        raise OSError(errno.EFBIG, f"it is larger than {bytes_max >> 10} KiB", str(path))
    return data


def open_plain(path: Path, root: Path, *, follow: bool = True) -> BinaryIO:
    """A regular file that lies below `root`, a real path, as of now: it is open.

    Between a look at a path and its opening a folder on the way may become a link to anywhere.

    Raises:
        OSError: it is something else, lies elsewhere, or can't be opened.
    """
    # A FIFO must not wait for its other end, nor a terminal become ours.
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    fd = os.open(path, flags | (0 if follow else os.O_NOFOLLOW))
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        if not Path(os.readlink(f"/proc/self/fd/{fd}")).is_relative_to(root):
            raise OSError(errno.EXDEV, f"it lies outside {root}", str(path))
        return open(fd, "rb")
    except BaseException:
        os.close(fd)
        raise
