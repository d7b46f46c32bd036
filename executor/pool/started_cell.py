"""One cell that is started before its use, whichever that will be."""

from __future__ import annotations

from collections.abc import Callable

import trio

from executor.cells.maker import CellMaker, CellParts
from executor.errors import SandboxError


class StartedCell:
    """A process that may become any cell. Each is taken once, and then the next is started.

    In version 1 of control groups moving a process costs up to two grace periods of RCU, about 10
    ms on an idle machine. Only version 2 can start a process in a group.
    """

    def __init__(self, maker: CellMaker, dispose: Callable[[CellParts], None]) -> None:
        self._maker = maker
        self._dispose = dispose
        self._idle: CellParts | None = None
        self._requested = trio.Event()
        self._coming: trio.Event | None = None

    async def take(self) -> CellParts:
        """The idle one; else the one that is being started, or a new one.

        Raises:
            SandboxError, OSError: it could not be started.
        """
        coming, self._coming = self._coming, None  # nobody else waits for it
        if coming is not None:
            await coming.wait()
        parts, self._idle = self._idle, None
        if parts is not None and parts.cell is not None and parts.cell.is_alive():
            return parts
        if parts is not None:
            self._dispose(parts)
        return await self._start()

    def request(self) -> None:
        """Have one started for the next run."""
        self._requested.set()

    async def serve(self) -> None:
        """Start one whenever it is requested, until cancelled."""
        try:
            while True:
                await self._requested.wait()
                self._requested = trio.Event()
                if self._idle is None:
                    await self._start_next()
        finally:
            if self._idle is not None:
                self._dispose(self._idle)

    async def _start_next(self) -> None:
        self._coming = here = trio.Event()
        try:
            self._idle = await self._start()
        except (SandboxError, OSError):
            return  # the next `take` tries again and raises
        finally:
            self._coming = None
            here.set()

    async def _start(self) -> CellParts:
        parts = CellParts()
        try:
            await self._maker.start(parts)
        except BaseException:
            self._dispose(parts)
            raise
        return parts
