"""Pauses before an engine that does not answer is asked again."""

from __future__ import annotations

import logging
import random
from typing import Final

import trio

PAUSE_S_MAX: Final = 10.0
_PAUSE_S: Final = 0.25

log = logging.getLogger(__name__)


class Pauses:
    """Pauses that grow from failure to failure, and end early where the worker is to leave."""

    def __init__(self, leave: trio.Event) -> None:
        self._leave = leave
        self._next_s = _PAUSE_S

    async def after(self, error: Exception) -> None:
        """Wait, and say why."""
        pause_s = self._next_s * random.uniform(0.5, 1)  # noqa: S311 - so that not all ask at once
        log.warning("the engine: %s; asked again in %.1f s", error, pause_s)
        self._next_s = min(self._next_s * 2, PAUSE_S_MAX)
        with trio.move_on_after(pause_s):
            await self._leave.wait()
            await trio.sleep(_PAUSE_S)  # who leaves still has something to report

    def reset(self) -> None:
        """All is well."""
        self._next_s = _PAUSE_S
