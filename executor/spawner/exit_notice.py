"""A program's exit as the kernel tells it while the program still stands in its last call.

Behind exit_group(2) no instruction of the program runs any more. What follows is the kernel's own
work: an interpreter's memory takes it 1 to 7 ms, and a parent is told when that is done. A filter
of its own has the supervisor asked first (seccomp_unotify(2)). Nothing that is decided here rests
on what a program says: the call, the thread and the exit code are the kernel's to tell.
"""

from __future__ import annotations

import os

from .notification import is_asked, let_go_on, receive


class ExitNotice:
    """The supervisor's end of the filter that a program and all it starts have taken on."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def is_there(self) -> bool:
        """Whether some process asks. The descriptor is also ready when none is left to ask."""
        return is_asked(self.fd)

    def exit_code(self, main: int) -> int | None:
        """With what code this process is about to exit, if it is the one that asks.

        To be called when `is_there`. Any other process goes on to its end; `main` stays in the call
        until it is killed.
        """
        try:
            asked = receive(self.fd)
            if os.path.isdir(f"/proc/{main}/task/{asked.thread}"):
                return asked.arguments[0] & 0xFF
            let_go_on(self.fd, asked)
        except OSError:
            pass  # who asked was killed meanwhile
        return None
