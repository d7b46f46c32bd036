"""Calls that may wait for a disk: by a thread, or in place where they were quick the last time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import trio

QUICK_S = 0.001

T = TypeVar("T")


class DiskCall:
    """One sort of call, which mostly finds in memory what it asks the disk for.

    To wake a thread and to be woken by it takes 0.1 to 0.3 ms on a machine that was idle: more than
    a quick call itself, and as much as a tenth of a run.
    """

    def __init__(self) -> None:
        self._took_s = float("inf")

    async def __call__(self, call: Callable[[], T], *, is_small: bool = True) -> T:
        """The call's result. What is not `small` may take longer than the last one did."""
        if self._took_s < QUICK_S and is_small:
            await trio.lowlevel.checkpoint_if_cancelled()
            return self._timed(call)
        return await trio.to_thread.run_sync(self._timed, call)

    def _timed(self, call: Callable[[], T]) -> T:
        started = time.monotonic()
        try:
            return call()
        finally:
            self._took_s = time.monotonic() - started
