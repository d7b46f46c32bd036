"""Sockets, FIFOs and devices of the project are absent from a container's view of it.

They are not covered as secrets are: gVisor can't start where something is mounted on a socket that
someone listens at, and waits for ever on a FIFO.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable
from pathlib import Path

from base import capabilities


def leave_out(names: Iterable[str], lower: Path, upper: Path) -> None:
    """Mark paths below `lower` as deleted in an overlay's new upper folder.

    The folders above them look as they did.

    Raises:
        OSError: the file system or the kernel (before Linux 5.8, without root) has no such marks.
    """
    folders = []
    for name in names:
        above = Path(name).parent
        for folder in reversed((above, *above.parents)):
            if not os.path.lexists(upper / folder):
                (upper / folder).mkdir()
                folders.append(folder)
        os.mknod(upper / name, stat.S_IFCHR, os.makedev(0, 0))
    gives = capabilities.holds(capabilities.CHOWN)
    for folder in reversed(folders):  # what is put into one changes its times
        info = os.lstat(lower / folder)
        if gives:
            os.chown(upper / folder, info.st_uid, info.st_gid)
        shutil.copystat(lower / folder, upper / folder, follow_symlinks=False)


def is_special(path: str) -> bool:
    """Return whether a path is a socket, FIFO or device; a link is none."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode))
