"""Lock files (flock(2)): the kernel lets go of one when its holder dies, however that happens."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

POLL_S = 0.02


@contextmanager
def hold_lock(
    path: str | os.PathLike[str], wait_s: float | None = None, *, is_shared: bool = False
) -> Iterator[None]:
    """Hold a lock file, made where it is missing. Without `wait_s` others are waited for. Any
    number of processes hold one that is shared.

    Raises:
        BlockingIOError: another process held it all the while.
        OSError: it can't be opened, or is a link.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(path, flags, 0o600)
    try:
        _lock(descriptor, wait_s, fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def is_held(path: str | os.PathLike[str]) -> bool:
    """Whether a living process holds a lock file.

    Raises:
        OSError: it can't be opened; `FileNotFoundError` where it is missing.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _lock(descriptor: int, wait_s: float | None, kind: int) -> None:
    if wait_s is None:
        fcntl.flock(descriptor, kind)
        return None
    deadline = time.monotonic() + wait_s
    while True:
        try:
            return fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise
        time.sleep(POLL_S)
