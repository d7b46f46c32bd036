"""Writes of many tasks to one SQLite file, committed together: one sync of the disk for all that
came while the one before was under way."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Generic, TypeVar, cast

import trio

GROUP_MAX: Final = 256
"""Writes in one transaction at most, so that none waits for all of a flood."""

T = TypeVar("T")


@dataclass(slots=True)
class _Write(Generic[T]):
    do: Callable[[sqlite3.Connection], T]
    is_done: bool = False
    result: T | None = None
    error: Exception | None = None


class GroupedWriter:
    """Does writes in their order; whoever waits first commits for all who wait.

    The connection is its own, in autocommit mode, and used in other threads.
    """

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._turn = trio.Lock()
        self._waiting: list[_Write[object]] = []

    async def write(self, do: Callable[[sqlite3.Connection], T]) -> T:
        """Do a write, and return what it returns once that is on disk.

        One that raises leaves nothing, and the others of its group stand. A write is not cancelled:
        its caller is to know what became of it.

        Raises:
            sqlite3.Error: it was not done, nor was any other of its group.
            Exception: what `do` raised.
        """
        one = _Write(do)
        self._waiting.append(cast("_Write[object]", one))
        with trio.CancelScope(shield=True):
            async with self._turn:
                while not one.is_done:
                    group = self._waiting[:GROUP_MAX]
                    del self._waiting[:GROUP_MAX]
                    await trio.to_thread.run_sync(self._commit, group)
        if one.error is not None:
            raise one.error
        return cast("T", one.result)

    def _commit(self, group: list[_Write[object]]) -> None:
        try:
            self._db.execute("BEGIN IMMEDIATE")
            for one in group:
                self._do(one)
            self._db.execute("COMMIT")
        except Exception as error:  # nobody is to wait for what will not come
            for one in group:
                one.error = error
            if self._db.in_transaction:
                with suppress(sqlite3.Error):  # the next group's transaction tells of it
                    self._db.execute("ROLLBACK")
        finally:
            for one in group:
                one.is_done = True

    def _do(self, one: _Write[object]) -> None:
        self._db.execute("SAVEPOINT one")
        try:
            one.result = one.do(self._db)
        except Exception as error:
            if not self._db.in_transaction:  # SQLite has undone all of it: a full disk, say
                raise
            self._db.execute("ROLLBACK TO one")
            one.error = error
        self._db.execute("RELEASE one")
