"""What a front counts: runs by owner, seconds by stage, bytes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum


class Stage(StrEnum):
    """The way of a run, in parts."""

    SNAPSHOT = "snapshot"
    UPLOAD = "upload"
    TURN = "turn"
    ENGINE = "engine"
    BACK = "back"


@dataclass(slots=True)
class Figures:
    """Counts since the front began. Runs are by owner; `seconds` and `times` by stage.

    `lost` are runs that an engine or a worker lost, however often, `duplicates` outcomes that were
    dropped since another had come, `kept_here` runs that were done here though they might have been
    sent. `bytes_sent` and `bytes_back` are of blobs.
    """

    sent: Counter[str] = field(default_factory=Counter)
    done: Counter[str] = field(default_factory=Counter)
    lost: Counter[str] = field(default_factory=Counter)
    duplicates: Counter[str] = field(default_factory=Counter)
    kept_here: Counter[str] = field(default_factory=Counter)
    seconds: Counter[Stage] = field(default_factory=Counter)
    times: Counter[Stage] = field(default_factory=Counter)
    bytes_sent: int = 0
    bytes_back: int = 0

    @contextmanager
    def measure(self, stage: Stage) -> Iterator[None]:
        """Count the time that a block takes."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.seconds[stage] += time.monotonic() - began  # type: ignore[assignment]
            self.times[stage] += 1
