"""Whom the kernel ends when memory runs out: programs, and their supervisor last of all.

A supervisor that dies before its programs can't put right what they did. A process that is closed
to ptrace can't open its own score, so it is opened before; children inherit what it says.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

SCORE = b"700"


class _Score:
    """This process's own, once it has been opened."""

    def __init__(self) -> None:
        self._fd = -1
        self._own = b"0"

    def open(self) -> None:
        """To be done while this process may be looked at."""
        with contextlib.suppress(OSError):
            fd = os.open("/proc/self/oom_score_adj", os.O_RDWR | os.O_CLOEXEC)
            self._own = os.pread(fd, 16, 0)
            self._fd = fd

    @contextlib.contextmanager
    def hold_raised(self) -> Iterator[None]:
        """Processes that are forked meanwhile are ended first."""
        if self._fd < 0 or int(self._own) >= int(SCORE):
            yield
            return
        os.pwrite(self._fd, SCORE, 0)
        try:
            yield
        finally:  # a forked process never comes here: it becomes a program, or ends
            os.pwrite(self._fd, self._own, 0)


score = _Score()
