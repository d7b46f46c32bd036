"""Waiting for new lines in transcripts: until a folder changes, or some seconds have passed.

Folders are watched where that works; where it does not, as on some network file systems, there may
be something new after each wait. Looking then reads no file whose size and time are the same.
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

POLL_S = 5.0
POLL_S_MIN = 0.1
"""Seconds between two looks for what is new in agents' sessions: the interval that ctx0 names."""

STEP_MS = 500
"""How long after a change others are waited for, and how often the watch looks for any."""

DEBOUNCE_MS = 1000


def read_poll_s(config: Config) -> float:
    """Return the longest wait in seconds; every command names settings that cannot be read."""
    with suppress(OSError, ContextModeError):
        values = load_settings(config.project, config.config_home).values
        return max(float(values["transcripts.poll_ms"]) / 1000, POLL_S_MIN)
    return POLL_S


class News:
    """One watch over folders, for one thread at a time."""

    def __init__(self) -> None:
        """Watch nothing yet."""
        self._stop = threading.Event()
        self._roots: Sequence[str] = ()
        self._changes: Iterator[object] | None = None

    def stop(self) -> None:
        """End a wait that another thread is in."""
        self._stop.set()

    def wait(self, roots: Sequence[str], poll_s: float) -> bool:
        """Wait until something changes below the folders, or the time has passed; tell whether
        something did."""
        present = sorted({root for root in roots if os.path.isdir(root)})
        if present != self._roots:
            self._roots = present
            self._changes = self._watch(present, poll_s) if present else None
        if self._changes is not None:
            try:
                return bool(next(self._changes))
            except (OSError, RuntimeError, StopIteration):  # no more watches, or told to stop
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
