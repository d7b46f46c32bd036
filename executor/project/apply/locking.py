"""One commit at a time to each project, whichever process makes it."""

from __future__ import annotations

import fcntl
import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from executor.project.store.outcome import CommitError

WAIT_S_MAX = 30.0
POLL_S = 0.02


def key_of(project: Path) -> str:
    """A name for what is stored of a project."""
    return hashlib.sha256(os.fsencode(os.path.realpath(project))).hexdigest()[:16]


@contextmanager
def hold_lock(path: Path, wait_s: float = WAIT_S_MAX) -> Iterator[None]:
    """Hold a lock file; the kernel lets go of it when this process dies.

    Raises:
        CommitError: another process held it all the while.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        _wait_for(descriptor, time.monotonic() + wait_s)
        yield
    finally:
        os.close(descriptor)


def _wait_for(descriptor: int, deadline: float) -> None:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise CommitError(
                    f"another run's changes were being committed to this project for over "
                    f"{WAIT_S_MAX:.0f} s; nothing of this one's is applied",
                    "run it again when that is done",
                ) from None
        time.sleep(POLL_S)
