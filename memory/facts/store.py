"""One open file of facts: a project's, or the user's own. Several processes write to it.

Usable by one thread at a time; each opens its own. The first write of a day makes a snapshot, and
five are stored. A file that is damaged or has no facts gets none, so that good ones survive.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from base.stores import (
    WAIT_S,
    Database,
    OpenStore,
    copy_daily,
    copy_file,
    find_folder,
    find_last_copy,
    is_damage,
    is_lost,
    list_copies,
    share_file,
    verify_structure,
)
from kb import TOKENIZER
from memory.errors import BadInputError, StoreUnavailableError
from memory.facts.schema import STEPS
from memory.gate import FindSecrets, Gate

if TYPE_CHECKING:
    from base.plain_files import StrPath

KEPT = 5
DAY_S = 86_400

_REPLACED = "replaced-"
Clock = Callable[[], float]

RESTORE = "context-mode memory restore"
"""The command that restores a project's file; that of the user adds its scope."""

REPAIR = "context-mode memory check --repair"


class FactDatabase(Database):
    """A file of facts, which is copied before the first write of a day."""

    clock: Clock = staticmethod(time.time)
    _day = -1

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Run one transaction, after the day's snapshot.

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
            # If the disk is full, the write itself reports it, unless it has room.
            self.notices = (*self.notices, f"today's snapshot of the facts was not made: {error}")


class LastSnapshot(Database):
    """The last snapshot of a damaged file: it is read, and nothing is written."""

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
            restore_hint(self.restored_by, self.damaged, self.path),
        )
        yield self._db


def restore_hint(command: str, path: StrPath, snapshot: StrPath) -> str:
    """Return what the user can do about a damaged file."""
    return (
        f"Run `{command} --last`, which restores {snapshot}; to start from scratch, move {path}*"
        f" and {find_folder(Path(path)) / Path(path).stem}-* away."
    )


def write_damage_notice(command: str, path: StrPath, snapshot: StrPath) -> str:
    """Return the notice that a file is read from its last snapshot. `command` restores it."""
    at = time.strftime("%Y-%m-%d %H:%M", time.gmtime(os.stat(snapshot).st_mtime))
    return (
        f"{path} is damaged or missing: facts are shown as of {at} UTC from {snapshot}, none is"
        f" recorded. {restore_hint(command, path, snapshot)}"
    )


def snapshot_database(database: Database, now: float) -> Path | None:
    """Copy a writable file if that was not done today; return the copy, or None without facts.

    Raises:
        StoreUnavailableError: the file is damaged.
    """
    return copy_daily(database, now, KEPT) if _has_facts(database) else None


def make_snapshot(store: FactStore, to: Path) -> None:
    """Copy the file permanently to a given place.

    Raises:
        BadInputError: the place exists, or cannot be written.
        StoreUnavailableError: the file is damaged.
    """
    try:
        copy_file(store.database, to)
    except OSError as error:
        raise BadInputError(f"{to}: {error.strerror}", "Give the name of a new file.") from error


def list_replaced(path: StrPath) -> list[Path]:
    """List the files that restores replaced, the newest first. They may be damaged."""
    return sorted(list_copies(path, f"{_REPLACED}*"), key=_order_replaced, reverse=True)


def list_all_snapshots(path: StrPath) -> list[Path]:
    """List all stored copies of a file of facts."""
    return [*list_copies(path), *list_replaced(path)]


def name_replaced(path: Path, now: float) -> Path:
    """Name the copy of a file that a restore replaces, after all others of the same second."""
    second = time.strftime("%Y-%m-%dT%H%M%SZ", time.gmtime(now))
    taken = [_order_replaced(one)[1] for one in list_copies(path, f"{_REPLACED}{second}*")]
    # Numbers of removed files are not used again: the newest file has the highest.
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


class FactStore(OpenStore):
    """The facts of one file. Functions of this room use the connection of `database.reading()` and
    `database.writing()`."""

    def __init__(  # noqa: PLR0913 - how it is opened
        self,
        path: StrPath,
        *,
        find_secrets: FindSecrets,
        clock: Callable[[], float] = time.time,
        create: bool = True,
        wait_s: float = WAIT_S,
        restored_by: str = RESTORE,
    ) -> None:
        """Open the file; create it if it is missing. `find_secrets` finds secrets, which are not
        stored. `restored_by` is the restore command. A damaged file is never replaced by a new one:
        its last snapshot is read instead, `notices` report it, and writing is refused.

        Raises:
            StoreUnavailableError: it is missing and not to be created, or cannot be opened; or it
                is damaged and has no snapshot.
        """
        self.path = path
        self.clock = clock
        self._restored_by = restored_by
        self._held = ExitStack()
        with ExitStack() as held:
            held.enter_context(share_file(path, wait_s))
            self.database: Database = self._open(path, create=create, wait_s=wait_s)
            self._held = held.pop_all()
        self.gate = Gate(find_secrets)
        self.stemmer = Stemmer()

    @property
    def mended_by(self) -> str:
        """Return the command that fixes problems found by a check."""
        if isinstance(self.database, LastSnapshot):
            return f"{self._restored_by} --last"
        return REPAIR

    def close(self) -> None:
        """Close the file; safe to call twice."""
        super().close()
        self.stemmer.close()

    def fall_back(self, error: BaseException) -> bool:
        """Continue with the last snapshot if an error reports a damaged file. Return whether this
        was done; the failed call can then be repeated."""
        path, last = self.path, find_last_copy(self.path)
        is_own = str(error).startswith(f"{path}:")
        if isinstance(self.database, LastSnapshot) or last is None:
            return False
        if not (is_own and is_damage(error)):
            return False
        self.database.close()
        self.database = self._open_snapshot(path, last)
        return True

    def _open(self, path: StrPath, *, create: bool, wait_s: float) -> Database:
        last = find_last_copy(path)
        if last is not None and is_lost(path):
            return self._open_snapshot(path, last)
        try:
            database = FactDatabase(
                path,
                STEPS,
                holds="facts",
                create=create,
                wait_s=wait_s,
                settings={"synchronous": "FULL"},  # committed writes survive a power loss
            )
            database.clock = self.clock
            try:
                verify_structure(database)
            except BaseException:
                database.close()
                raise
        except StoreUnavailableError as error:
            if not is_damage(error):
                raise
            if last is None:
                raise StoreUnavailableError(
                    f"{error.message}: the file is damaged and has no snapshot",
                    f"Restore a backup with `{self._restored_by} FILE`; to start over, move the"
                    " file and its -wal away.",
                ) from error.__cause__
            return self._open_snapshot(path, last)
        return database

    def _open_snapshot(self, path: StrPath, snapshot: Path) -> LastSnapshot:
        database = LastSnapshot(snapshot, STEPS, holds="facts", read_only=True)
        database.damaged, database.restored_by = path, self._restored_by
        database.notices = (write_damage_notice(self._restored_by, path, snapshot),)
        return database


class Stemmer:
    """The stems of words, by the tokenizer of the index: a small index in memory, built on first
    use. Usable by one thread at a time."""

    def __init__(self) -> None:
        self._db: sqlite3.Connection | None = None

    def stem(self, texts: Iterable[Iterable[str]]) -> list[frozenset[str]]:
        """Return the stems of the words of each text."""
        db = self._db = self._db or _make_index()
        stems = defaultdict[int, set[str]](set)
        rows = list(enumerate(" ".join(text) for text in texts))
        db.execute("BEGIN")
        try:
            db.executemany("INSERT INTO text (rowid, body) VALUES (?, ?)", rows)
            for term, number in db.execute("SELECT DISTINCT term, doc FROM stem"):
                stems[number].add(term)
        finally:
            db.execute("ROLLBACK")
        return [frozenset(stems[number]) for number, _ in rows]

    def close(self) -> None:
        """Free its memory; safe to call twice."""
        if self._db is not None:
            self._db.close()
            self._db = None


def _make_index() -> sqlite3.Connection:
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.execute(f'CREATE VIRTUAL TABLE text USING fts5(body, tokenize = "{TOKENIZER}")')
    db.execute("CREATE VIRTUAL TABLE stem USING fts5vocab('text', 'instance')")
    return db
