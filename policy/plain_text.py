"""Text of a file that a project may have put there: whatever it is, reading it ends."""

from __future__ import annotations

import errno
import os
import stat

from policy.paths import is_below

BYTES_MAX = 4 << 20


def read_text(path: str, root: str | None = None) -> str:
    """The text of a regular file; a pipe would wait for its other end, a device never end.

    With `root` no link is followed out of that folder.

    Raises:
        OSError: it is something else, larger than 4 MiB, elsewhere, or can't be opened.
        UnicodeDecodeError: it is not UTF-8.
    """
    return read_bytes(path, BYTES_MAX, root).decode("utf-8")


def read_bytes(path: str, bytes_max: int, root: str | None = None) -> bytes:
    """All of a regular file, below `root` if that is given.

    Raises:
        OSError: it is something else, larger, elsewhere, or can't be opened.
    """
    _refuse_unless_plain(os.stat(path), path)  # opening alone sets some devices off
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        _refuse_unless_plain(os.fstat(descriptor), path)
        if root is not None:
            # What is open, since a folder on the way may be exchanged at any moment.
            real = os.readlink(f"/proc/self/fd/{descriptor}")
            if not is_below(real, os.path.realpath(root)):
                raise OSError(errno.EXDEV, f"a link leads out of {root}, to {real}", path)
        data = file.read(bytes_max + 1)
    if len(data) > bytes_max:
        raise OSError(errno.EFBIG, f"it is larger than {bytes_max >> 10} KiB", path)
    return data


def _refuse_unless_plain(found: os.stat_result, path: str) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file", path)
