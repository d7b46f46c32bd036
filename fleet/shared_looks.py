"""One look at a project for all runs that wait for one: it begins after each of them asked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

import trio

T = TypeVar("T")


@dataclass(slots=True)
class _Asked(Generic[T]):
    found: T | None = None
    error: Exception | None = None
    is_answered: bool = False


class SharedLooks(Generic[T]):
    """Looks one after the other, each for all who asked before it began.

    So a thousand runs that come at once cost two looks, and nobody waits behind another's thousand.
    """

    def __init__(self, look: Callable[[], Awaitable[T]]) -> None:
        self._look = look
        self._turn = trio.Lock()
        self._waiting: list[_Asked[T]] = []

    async def look(self) -> T:
        """Return what a look finds that begins from now on.

        Raises:
            Exception: what that look raised, for all who waited for it.
        """
        asked: _Asked[T] = _Asked()
        self._waiting.append(asked)
        async with self._turn:
            if not asked.is_answered:
                await self._look_for_all()
        if asked.error is not None:
            raise asked.error
        return cast("T", asked.found)

    async def _look_for_all(self) -> None:
        group, self._waiting = self._waiting, []
        # Others wait for it: who asked first does not take it along when it goes.
        with trio.CancelScope(shield=True):
            try:
                found = await self._look()
            except Exception as error:
                for one in group:
                    one.error = error
            else:
                for one in group:
                    one.found = found
            finally:
                for one in group:
                    one.is_answered = True
