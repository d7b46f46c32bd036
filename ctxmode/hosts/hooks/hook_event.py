"""Hook events: their fields, time limits, and the log of failures.

Separate from `session_hooks`, which the capture of turns does not need.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager, suppress

from base.named_tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Iterator, Mapping
    from types import FrameType
    from typing import Any

    from ctxmode.hosts.hooks.hook_types import Purpose
else:
    try:  # `signal` without the names of all signals, which would cost each hook a millisecond
        import _signal as signal
    except ImportError:
        import signal

LOG_BYTES_MAX = 256 * 1024
"""Limit for the log and its predecessor together."""

LOG_LINE_CHARS = 500
LOG_FILE = "bells.log"


class Event(NamedTuple):
    """One event of a host."""

    host: str
    purpose: Purpose  # of the event
    event: Mapping[str, Any]  # its fields
    project: str
    home: str
    data_dir: str  # the folder of the stores
    environ: Mapping[str, str]

    @property
    def session(self) -> str:
        """The host's ID of the session; for Cursor the conversation, which names its transcript."""
        return self.text("conversation_id", "session_id", "sessionId", "sessionID")

    @property
    def is_from_cursor(self) -> bool:
        """Return whether Cursor sent this by Claude Code's hooks, in addition to its own."""
        return self.host == "claude-code" and bool(self.text("cursor_version"))

    def text(self, *names: str) -> str:
        """Return the first of the named fields that is a text."""
        values = (self.event.get(name) for name in names)
        return next((value for value in values if isinstance(value, str) and value), "")


class TimeUpError(BaseException):
    """The deadline passed. Handlers of `Exception` in libraries do not catch it."""


@contextmanager
def limit_time(seconds: float) -> Iterator[float]:
    """Raise TimeUpError in the block after some seconds; yield the deadline."""

    def end(signum: int, frame: FrameType | None) -> None:
        raise TimeUpError

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield time.monotonic() + seconds
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def log(hook: Event, what: str) -> None:
    """Log a failure in a file of bounded size, if that can be written."""
    with suppress(OSError):
        folder = os.path.join(hook.data_dir, "logs")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        path = os.path.join(folder, LOG_FILE)
        with suppress(FileNotFoundError):
            if os.stat(path).st_size > LOG_BYTES_MAX // 2 - 4 * LOG_LINE_CHARS:
                os.replace(path, f"{path}.1")
        line = " ".join(f"{hook.host} {hook.purpose}: {what}".split())[: LOG_LINE_CHARS - 30]
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        with open(descriptor, "w", encoding="utf-8", errors="replace") as log:
            log.write(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {line}\n")
