"""A program's exit as the kernel tells it while the program still stands in its last call.

Behind exit_group(2) no instruction of the program runs any more. What follows is the kernel's own
work: an interpreter's memory takes it 1 to 7 ms, and a parent is told when that is done. A filter
of its own has the supervisor asked first (seccomp_unotify(2)). Nothing that is decided here rests
on what a program says: the call, the thread and the exit code are the kernel's to tell.
"""

from __future__ import annotations

import fcntl
import os
import select
import struct

# _IOWR('!', 0, struct seccomp_notif), _IOWR('!', 1, struct seccomp_notif_resp): linux/seccomp.h
RECEIVE, ANSWER = 0xC0502100, 0xC0182101
NOTIFICATION = struct.Struct("=QIIiIQ6Q")
RESPONSE = struct.Struct("=QqiI")
CONTINUE = 1


class ExitNotice:
    """The supervisor's end of the filter that a program and all it starts have taken on."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def is_there(self) -> bool:
        """Whether some process asks. The descriptor is also ready when none is left to ask."""
        poller = select.poll()
        poller.register(self.fd, select.POLLIN)
        return any(event & select.POLLIN for _, event in poller.poll(0))

    def exit_code(self, main: int) -> int | None:
        """With what code this process is about to exit, if it is the one that asks.

        To be called when `is_there`. Any other process goes on to its end; `main` stays in the call
        until it is killed.
        """
        notification = bytearray(NOTIFICATION.size)
        try:
            fcntl.ioctl(self.fd, RECEIVE, notification)
            number, thread, _, _, _, _, code, *_ = NOTIFICATION.unpack(notification)
            if os.path.isdir(f"/proc/{main}/task/{thread}"):
                return int(code) & 0xFF
            fcntl.ioctl(self.fd, ANSWER, RESPONSE.pack(number, 0, 0, CONTINUE))
        except OSError:
            pass  # who asked was killed meanwhile
        return None
