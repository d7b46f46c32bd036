"""The cluster of a front: opened when it is first needed, and again after it did not answer."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import TYPE_CHECKING, NoReturn

import trio

from fleet.errors import UnreachableError

if TYPE_CHECKING:
    from fleet.dask.client import DaskRuns

OPEN_S_MAX = 10.0
AGAIN_S = 5.0
"""After a vain try, callers fail at once for so long: each of many runs would wait again."""


class Connection:
    """Holds a cluster open until the stack ends."""

    def __init__(
        self, opens: Callable[[], AbstractAsyncContextManager[DaskRuns]], stack: AsyncExitStack
    ) -> None:
        self._opens = opens
        self._stack = stack
        self._lock = trio.Lock()
        self._engine: DaskRuns | None = None
        self._failed = UnreachableError("it was not tried yet")
        self._try_at = 0.0

    @property
    def is_open(self) -> bool:
        """Whether there is a cluster, whether or not it answers now."""
        return self._engine is not None

    async def engine(self) -> DaskRuns:
        """Return the cluster, open.

        Raises:
            ClusterError: it can't be used as it is set up.
            UnreachableError: it does not answer, or did not a moment ago.
        """
        async with self._lock:
            if self._engine is None:
                if trio.current_time() < self._try_at:
                    raise self._failed
                try:
                    with trio.fail_after(OPEN_S_MAX):
                        self._engine = await self._stack.enter_async_context(self._opens())
                except trio.TooSlowError:
                    self._fail(UnreachableError(f"it did not answer for {OPEN_S_MAX:.0f} s"))
                except UnreachableError as error:
                    self._fail(error)
            return self._engine

    def _fail(self, error: UnreachableError) -> NoReturn:
        self._failed, self._try_at = error, trio.current_time() + AGAIN_S
        raise error
