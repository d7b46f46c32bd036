"""The folder in which a base is made, and those that builds left which were killed amid it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

PREFIX = "context-mode-base-"
LOCK = "lock"


@contextlib.contextmanager
def workplace(parent: Path) -> Iterator[tuple[str, int]]:
    """A folder of one's own, and the descriptor of its lock, which who works in it inherits.

    What lies there of the same user and is no more in use goes first.

    Raises:
        OSError: `parent` can't be written.
    """
    sweep(parent)
    with tempfile.TemporaryDirectory(prefix=PREFIX, dir=parent) as folder:
        made = f"{folder}/{LOCK}.new"
        lock = os.open(made, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            os.rename(made, f"{folder}/{LOCK}")  # nobody finds it before it is held
            yield folder, lock
        finally:
            os.close(lock)


def sweep(parent: Path) -> None:
    """Remove the folders whose lock nobody holds; one without a lock is just being made."""
    for folder in parent.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
                continue
            lock = os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)
