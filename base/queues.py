"""Queues of processes: each takes a number in order, and waits for the one before it to end.

flock(2) promises no order among those who wait. Here each holds a lock of its own, an open file
description's (fcntl(2)) on the byte of its number, and waits for the byte before.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from struct import pack

from base.named_tuples import NamedTuple

BYTES_MAX = 1 << 20
"""How long the file gets, by a byte a number, before it begins anew."""


class Place(NamedTuple):
    """A place in a queue, held by all processes that have the descriptor open."""

    descriptor: int
    number: int


def take_place(path: str) -> Place:
    """Take the next number of the queue that a file is, made where it is missing.

    Raises:
        OSError: it can't be opened, or is a link.
    """
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    descriptor = os.open(path, flags, 0o600)
    try:
        os.write(descriptor, b".")
        place = Place(descriptor, os.lseek(descriptor, 0, os.SEEK_CUR))
        if place.number >= BYTES_MAX:
            os.ftruncate(descriptor, 0)
        with suppress(BlockingIOError):  # one of the same moment waits for this one already
            _lock(place.descriptor, fcntl.F_OFD_SETLK, place.number)
    except BaseException:
        os.close(descriptor)
        raise
    return place


def wait_turn(place: Place) -> None:
    """Wait until nobody has the number before."""
    _lock(place.descriptor, fcntl.F_OFD_SETLKW, place.number - 1)


def _lock(descriptor: int, command: int, byte: int) -> None:
    # struct flock: type, whence, start, length, and a process that has to be 0.
    fcntl.fcntl(descriptor, command, pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, byte, 1, 0))
