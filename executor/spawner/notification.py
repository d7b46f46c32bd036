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
SET_FLAGS = 0x40082104  # _IOW('!', 4, __u64)
CONTINUE, SYNC_WAKE_UP = 1, 1


class HeldCall(NamedTuple):
    """A system call in which a thread stands until it is answered, or killed."""

    listener: int
    id: int
    thread: int  # who asks
    number: int
    arguments: tuple[int, ...]  # as the kernel took them

    def go_on(self) -> None:
        """Let the kernel do what it would have done."""
        with contextlib.suppress(OSError):  # who asked was killed meanwhile
            fcntl.ioctl(self.listener, ANSWER, RESPONSE.pack(self.id, 0, 0, CONTINUE))

    def answer(self, error: int, value: int = 0) -> None:
        """Let the call fail with this error, or without one return this value."""
        with contextlib.suppress(OSError):
            fcntl.ioctl(self.listener, ANSWER, RESPONSE.pack(self.id, value, -error, 0))

    def is_there(self) -> bool:
        """Return whether the thread still stands in the call, so that its number is its own."""
        for request in (IS_VALID, WAS_VALID):
            with contextlib.suppress(OSError):
                fcntl.ioctl(self.listener, request, struct.pack("=Q", self.id))
                return True
        return False


def hand_over_at_once(fd: int) -> None:
    """Have who asks and who answers wake each other on one processor: one of them always waits."""
    with contextlib.suppress(OSError):  # before Linux 6.6
        fcntl.ioctl(fd, SET_FLAGS, SYNC_WAKE_UP)


def is_asked(fd: int) -> bool:
    """Whether some process asks. The descriptor is also ready when none is left to ask."""
    poller = select.poll()
    poller.register(fd, select.POLLIN)
    return any(event & select.POLLIN for _, event in poller.poll(0))


def receive(fd: int) -> HeldCall:
    """What is asked; to be called when `is_asked`.

    Raises:
        OSError: who asked was killed meanwhile.
    """
    buffer = bytearray(NOTIFICATION.size)
    fcntl.ioctl(fd, RECEIVE, buffer)
    number, thread, _, call, _, _, *arguments = NOTIFICATION.unpack(buffer)
    return HeldCall(fd, number, thread, call, tuple(arguments))
