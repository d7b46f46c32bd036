"""Copies of a file of facts: one before the first write of a day, five of them kept.

A snapshot is never made of a file without facts or of a damaged one, so that it outlives both.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from memory.copies import copy_daily, copy_file, find_folder, is_damage, list_copies
from memory.database import Database
from memory.errors import BadInputError, StoreUnavailableError

if TYPE_CHECKING:
    from base.plain_files import StrPath
    from memory.facts.store import FactStore

KEPT = 5
DAY_S = 86_400

_REPLACED = "replaced-"
Clock = Callable[[], float]


class FactDatabase(Database):
    """A file of facts, which is copied before the first write of a day."""

    clock: Clock = staticmethod(time.time)
    _day = -1

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Give one transaction, after the day's snapshot.

        Raises:
            StoreUnavailableError: the file is damaged.
        """
        now = self.clock()
        if self._day != now // DAY_S and not self.is_read_only:
            self._snapshot(now)
            self._day = int(now // DAY_S)
        with super().writing() as db:
            yield db

    def _snapshot(self, now: float) -> None:
        try:
            snapshot_database(self, now)
        except (OSError, StoreUnavailableError) as error:
            if is_damage(error):
                raise
            # A full disk says so at the write itself, if that has no room either.
            self.notices = (*self.notices, f"today's snapshot of the facts was not made: {error}")


class LastSnapshot(Database):
    """The last snapshot of a file that is damaged: it is read, and nothing is written."""

    damaged: StrPath = ""
    restored_by = ""

    @contextmanager
    def exclusively(self) -> Iterator[sqlite3.Connection]:
        """Refuse to write.

        Raises:
            StoreUnavailableError: always.
        """
        raise StoreUnavailableError(
            f"{self.damaged} is damaged or missing: nothing is written to it",
            how_to_restore(self.restored_by, self.damaged, self.path),
        )
        yield self._db


def how_to_restore(command: str, path: StrPath, snapshot: StrPath) -> str:
    """Return what a person does about a damaged file."""
    return (
        f"Run `{command} --last`, which puts {snapshot} in its place; to begin anew, move {path}*"
        f" and {find_folder(Path(path)) / Path(path).stem}-* away."
    )


def tell_damage(command: str, path: StrPath, snapshot: StrPath) -> str:
    """Return the sentence for a person whose file is read from its last snapshot. `command` is the
    one that restores it."""
    at = time.strftime("%Y-%m-%d %H:%M", time.gmtime(os.stat(snapshot).st_mtime))
    return (
        f"{path} is damaged or missing: facts are shown as of {at} UTC from {snapshot}, none is"
        f" recorded. {how_to_restore(command, path, snapshot)}"
    )


def snapshot_daily(store: FactStore) -> Path | None:
    """Copy the file if that was not done today; return the copy. Without facts there is none.

    Raises:
        StoreUnavailableError: the file is damaged.
    """
    database = store.database
    if not isinstance(database, FactDatabase) or database.is_read_only:
        return None
    return snapshot_database(database, store.clock())


def snapshot_database(database: Database, now: float) -> Path | None:
    """Do what `snapshot_daily` says, for a file that can be written."""
    return copy_daily(database, now, KEPT) if _has_facts(database) else None


def make_snapshot(store: FactStore, to: Path) -> None:
    """Copy the file to a place of one's own, for good.

    Raises:
        BadInputError: something is there, or it cannot be written.
        StoreUnavailableError: the file is damaged.
    """
    try:
        copy_file(store.database, to)
    except OSError as error:
        raise BadInputError(f"{to}: {error.strerror}", "Give a new file's name.") from error


def list_replaced(path: StrPath) -> list[Path]:
    """List the files that restores replaced, the newest first. They may be damaged."""
    return sorted(list_copies(path, f"{_REPLACED}*"), key=_order_replaced, reverse=True)


def list_all_snapshots(path: StrPath) -> list[Path]:
    """List all that is kept of a file of facts beside it."""
    return [*list_copies(path), *list_replaced(path)]


def name_replaced(path: Path, now: float) -> Path:
    """Name a file that a restore replaces, after all that were replaced in the same second."""
    second = time.strftime("%Y-%m-%dT%H%M%SZ", time.gmtime(now))
    taken = [_order_replaced(one)[1] for one in list_copies(path, f"{_REPLACED}{second}*")]
    # The number of a file that is no longer kept is not used again: the newest has the highest.
    number = max(taken, default=0) + 1
    end = f"-{number}" if number > 1 else ""
    return find_folder(path) / f"{path.stem}-{_REPLACED}{second}{end}.sqlite3"


def _order_replaced(file: Path) -> tuple[str, int]:
    """Return the second at which a file was replaced, and its number in that second."""
    second, _, number = file.stem.rpartition(_REPLACED)[2].partition("Z")
    return second, int(number[1:]) if number[1:].isdecimal() else 1


def _has_facts(database: Database) -> bool:
    with database.reading() as db:
        return db.execute("SELECT 1 FROM change LIMIT 1").fetchone() is not None
