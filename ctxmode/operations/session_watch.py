"""Waiting for new lines in transcripts: until a folder changes, or some seconds have passed.

If folders cannot be watched, as on some network file systems, every wait ends with a check. The
check reads no file whose size and time are unchanged.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib import import_module

from ctxmode.config.locations import Config
from ctxmode.config.settings import load_settings
from ctxmode.errors import ContextModeError

POLL_S = 5.0  # seconds between two checks for new session entries: the interval in ctx0
POLL_S_MIN = 0.1
STEP_MS = 500
"""Milliseconds to wait for further changes after one, and between two checks of the watch."""

DEBOUNCE_MS = 1000


def read_poll_s(config: Config) -> float:
    """Return the longest wait in seconds. Invalid settings are ignored: other commands report
    them."""
    with suppress(OSError, ContextModeError):
        values = load_settings(config.project, config.config_home).values
        return max(float(values["transcripts.poll_ms"]) / 1000, POLL_S_MIN)
    return POLL_S


class News:
    """A watch over folders, for one thread at a time."""

    def __init__(self) -> None:
        """Set up a watch without folders."""
        self._stop = threading.Event()
        self._roots: Sequence[str] = ()
        self._changes: Iterator[object] | None = None

    def stop(self) -> None:
        """End the wait of another thread."""
        self._stop.set()

    def wait(self, roots: Sequence[str], poll_s: float) -> bool:
        """Wait until a folder changes, or the time has passed; return whether there was a
        change."""
        present = sorted({root for root in roots if os.path.isdir(root)})
        if present != self._roots:
            self._roots = present
            self._changes = self._watch(present, poll_s) if present else None
        if self._changes is not None:
            try:
                return bool(next(self._changes))
            except (OSError, RuntimeError, StopIteration):  # no more watches, or stopped
                self._changes = None
        self._stop.wait(poll_s)
        return False

    def _watch(self, roots: Sequence[str], poll_s: float) -> Iterator[object]:
        watch: Iterator[object] = import_module("watchfiles").watch(
            *roots,
            watch_filter=None,
            step=STEP_MS,
            debounce=DEBOUNCE_MS,
            rust_timeout=max(int(poll_s * 1000), STEP_MS),
            yield_on_timeout=True,
            stop_event=self._stop,
            raise_interrupt=True,
        )
        return watch
