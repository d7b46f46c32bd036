"""The engine of a front: opened when it is first needed, and again after it was not to be had."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import trio

from fleet.errors import ClusterError, UnreachableError

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from fleet.dask.client import DaskRuns

OPEN_S_MAX = 10.0
AGAIN_S = 5.0
"""After a vain try, callers are told at once for so long: each of many runs would wait anew."""


class Connection:
    """Holds an engine open in a nursery, until that ends."""

    def __init__(
        self,
        open_engine: Callable[[], AbstractAsyncContextManager[DaskRuns]],
        nursery: trio.Nursery,
    ) -> None:
        self._open = open_engine
        self._nursery = nursery
        self._lock = trio.Lock()
        self._engine: DaskRuns | None = None
        self._failed: UnreachableError | None = None
        self._try_at = 0.0

    @property
    def is_open(self) -> bool:
        """Whether there is an engine, whether or not it answers now."""
        return self._engine is not None

    async def engine(self) -> DaskRuns:
        """Have the engine open.

        Raises:
            ClusterError: it can't be used as it is set up.
            UnreachableError: it does not answer, or did not a moment ago.
        """
        async with self._lock:
            if self._engine is None:
                if self._failed is not None and trio.current_time() < self._try_at:
                    raise self._failed
                opened = await self._nursery.start(self._hold)
                if isinstance(opened, Exception):
                    raise opened
                self._engine = opened
            return self._engine

    async def _hold(
        self, task_status: trio.TaskStatus[DaskRuns | ClusterError | UnreachableError]
    ) -> None:
        """Open the engine, and keep it open; an error is the task's value."""
        self._failed = None
        opening = trio.CancelScope(deadline=trio.current_time() + OPEN_S_MAX)
        try:
            with opening:
                async with self._open() as engine:
                    opening.deadline = float("inf")
                    task_status.started(engine)
                    await trio.sleep_forever()
        except ClusterError as error:
            self._end(task_status, error)
            return
        except UnreachableError as error:
            self._failed = error
        if self._failed is None and opening.cancelled_caught:
            self._failed = UnreachableError(f"it did not answer for {OPEN_S_MAX:.0f} s")
        if self._failed is not None:
            self._try_at = trio.current_time() + AGAIN_S
            self._end(task_status, self._failed)

    def _end(
        self,
        task_status: trio.TaskStatus[DaskRuns | ClusterError | UnreachableError],
        error: ClusterError | UnreachableError,
    ) -> None:
        """Say why there is no engine: to whoever waits for it, or to the next who asks."""
        if self._engine is None:
            task_status.started(error)
        self._engine = None
