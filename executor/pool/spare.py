"""One cell that is begun ahead of its use, whichever that will be."""

from __future__ import annotations

from collections.abc import Callable

import trio

from executor.cells.making import Maker, Remains
from executor.errors import SandboxError


class Spare:
    """A process that may become any cell; taken once, and then made anew.

    In version 1 of control groups to move a process costs up to two grace periods of RCU, about
    10 ms on an idle machine, and nothing can be started in a group as in version 2.
    """

    def __init__(self, maker: Maker, discard: Callable[[Remains], None]) -> None:
        self._maker = maker
        self._discard = discard
        self._there: Remains | None = None
        self._wanted = trio.Event()
        self._coming: trio.Event | None = None

    async def take(self) -> Remains:
        """A begun cell: this one, or a new one if it neither is there nor comes.

        Raises:
            SandboxError, OSError: that could not be made.
        """
        coming, self._coming = self._coming, None  # nobody else waits for it
        if coming is not None:
            await coming.wait()
        remains, self._there = self._there, None
        if remains is not None and remains.cell is not None and remains.cell.is_alive():
            return remains
        if remains is not None:
            self._discard(remains)
        return await self._begun()

    def want(self) -> None:
        """From now on one is to be there."""
        self._wanted.set()

    async def tend(self) -> None:
        """Have one there whenever it is wanted, until cancelled."""
        try:
            while True:
                await self._wanted.wait()
                self._wanted = trio.Event()
                if self._there is None:
                    await self._try()
        finally:
            if self._there is not None:
                self._discard(self._there)

    async def _try(self) -> None:
        self._coming = here = trio.Event()
        try:
            self._there = await self._begun()
        except (SandboxError, OSError):
            return  # who takes one next is told why
        finally:
            self._coming = None
            here.set()

    async def _begun(self) -> Remains:
        remains = Remains()
        try:
            await self._maker.begin(remains)
        except BaseException:
            self._discard(remains)
            raise
        return remains
