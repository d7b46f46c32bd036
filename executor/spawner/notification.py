"""Calls of a program that the kernel asks the supervisor about first: seccomp_unotify(2)."""

from __future__ import annotations

import contextlib
import fcntl
import select
import struct
from typing import NamedTuple

# _IOWR('!', 0, struct seccomp_notif), _IOWR('!', 1, struct seccomp_notif_resp): linux/seccomp.h
RECEIVE, ANSWER = 0xC0502100, 0xC0182101
IS_VALID = 0x40082102  # _IOW('!', 2, __u64), and before Linux 5.17:
WAS_VALID = 0x80082102
NOTIFICATION = struct.Struct("=QIIiIQ6Q")
RESPONSE = struct.Struct("=QqiI")
CONTINUE = 1


class Notification(NamedTuple):
    """One call that waits for its answer, with its arguments as the kernel took them."""

    number: int
    thread: int  # who asks
    call: int
    arguments: tuple[int, ...]


def is_asked(fd: int) -> bool:
    """Whether some process asks. The descriptor is also ready when none is left to ask."""
    poller = select.poll()
    poller.register(fd, select.POLLIN)
    return any(event & select.POLLIN for _, event in poller.poll(0))


def receive(fd: int) -> Notification:
    """What is asked; to be called when `is_asked`.

    Raises:
        OSError: who asked was killed meanwhile.
    """
    buffer = bytearray(NOTIFICATION.size)
    fcntl.ioctl(fd, RECEIVE, buffer)
    number, thread, _, call, _, _, *arguments = NOTIFICATION.unpack(buffer)
    return Notification(number, thread, call, tuple(arguments))


def let_go_on(fd: int, asked: Notification) -> None:
    """Let the kernel do the call.

    Raises:
        OSError: who asked was killed meanwhile.
    """
    fcntl.ioctl(fd, ANSWER, RESPONSE.pack(asked.number, 0, 0, CONTINUE))


def answer(fd: int, asked: Notification, error: int) -> None:
    """End the call with an error number, or as done with 0; the kernel does not do it.

    Raises:
        OSError: who asked was killed meanwhile.
    """
    fcntl.ioctl(fd, ANSWER, RESPONSE.pack(asked.number, 0, -error, 0))


def is_waiting(fd: int, asked: Notification) -> bool:
    """Whether who asked is still there, and its number nobody else's."""
    for request in (IS_VALID, WAS_VALID):
        with contextlib.suppress(OSError):
            fcntl.ioctl(fd, request, struct.pack("=Q", asked.number))
            return True
    return False
