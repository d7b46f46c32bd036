"""Lock files (flock(2)), which the kernel releases when their holder dies, and queues."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager, suppress
from struct import pack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

POLL_S = 0.02
_QUEUE_BYTES_MAX = 1 << 20
"""Bytes of a queue's file, one a number, after which it is started again."""


@contextmanager
def hold_lock(
    path: str | os.PathLike[str], wait_s: float | None = None, *, is_shared: bool = False
) -> Iterator[None]:
    """Hold a lock file, created if missing. Without `wait_s` it waits without limit. Any number of
    processes can hold a shared one.

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
    """Return whether a living process holds a lock file.

    Raises:
        OSError: it can't be opened; `FileNotFoundError` if it is missing.
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


# flock(2) promises no order among the waiting. Here each holds its own lock, an open file
# description's (fcntl(2)) on the byte of its number, and waits for the byte before.
def take_place(path: str) -> tuple[int, int]:
    """Take the next number in a queue, whose file is created if missing. Return a descriptor and
    the number, which is held by all processes that have the descriptor open.

    Raises:
        OSError: it can't be opened, or is a link.
    """
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    descriptor = os.open(path, flags, 0o600)
    try:
        os.write(descriptor, b".")
        number = os.lseek(descriptor, 0, os.SEEK_CUR)
        if number >= _QUEUE_BYTES_MAX:
            os.ftruncate(descriptor, 0)
        with suppress(BlockingIOError):  # one of the same moment waits for this one already
            _lock_byte(descriptor, fcntl.F_OFD_SETLK, number)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor, number


def wait_turn(descriptor: int, number: int) -> None:
    """Wait until no process has the number before."""
    _lock_byte(descriptor, fcntl.F_OFD_SETLKW, number - 1)


def _lock_byte(descriptor: int, command: int, byte: int) -> None:
    # struct flock: type, whence, start, length, and a process that must be 0.
    fcntl.fcntl(descriptor, command, pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, byte, 1, 0))
