"""The text of a small file that a project may have put there: whatever it is, reading it ends."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

BYTES_MAX = 1 << 20


def read_text(file: Path) -> str:
    """The beginning of a regular file; what is not UTF-8 in it is replaced.

    Raises:
        OSError: it is something else, which may never end, or can't be opened.
    """
    if not file.is_file():
        raise OSError(errno.EINVAL, "it is not a regular file", str(file))
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with open(descriptor, "rb") as opened:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(file))
        return opened.read(BYTES_MAX).decode("utf-8", "replace")
