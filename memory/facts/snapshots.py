"""Copies of a file of facts: one before the first write of a day, five of them kept.

A snapshot is never made of a file without facts or of a damaged one, so that it outlives both.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from base.locks import hold_lock
from base.sqlite_files import connect_read_only, copy_into
from memory.database import WAIT_S, Database, is_damaged
from memory.errors import BadInputError, StoreUnavailableError

if TYPE_CHECKING:
    from base.plain_files import StrPath
    from memory.facts.store import FactStore

KEPT = 5
CHECKED_BYTES_MAX = 16 << 20
"""Of a file up to this size the structure is verified at each opening: that takes milliseconds."""

DAY_S = 86_400
UNFINISHED = ".unfinished"
"""What a name ends with until the file is whole; what a killed process left is removed."""

_FOLDER = "snapshots"
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


def is_damage(error: BaseException) -> bool:
    """Tell whether an error, or its cause, says that a file is damaged."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, sqlite3.DatabaseError):
        cause = cause.__cause__
    # What opens the file may raise errors of its own, which have no code.
    return cause is not None and getattr(cause, "sqlite_errorcode", 0) != 0 and is_damaged(cause)


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
    path = Path(database.path)
    day = time.strftime("%Y-%m-%d", time.gmtime(now))
    wanted = find_folder(path) / f"{path.stem}-{day}.sqlite3"
    if wanted.exists() or not _has_facts(database):
        return None
    with hold_snapshots(path):
        if wanted.exists():
            return None
        beside = wanted.with_suffix(UNFINISHED)
        beside.unlink(missing_ok=True)
        try:
            _copy(database, beside)
            os.replace(beside, wanted)
        finally:
            beside.unlink(missing_ok=True)
        for old in list_snapshots(path)[KEPT:]:
            old.unlink(missing_ok=True)
    return wanted


def make_snapshot(store: FactStore, to: Path) -> None:
    """Copy the file to a place of one's own, for good.

    Raises:
        BadInputError: something is there, or it cannot be written.
        StoreUnavailableError: the file is damaged.
    """
    try:
        _copy(store.database, to)
    except OSError as error:
        raise BadInputError(f"{to}: {error.strerror}", "Give a new file's name.") from error


def find_last_snapshot(path: StrPath) -> Path | None:
    """Return the newest copy of a file of facts; None where there is none."""
    return next(iter(list_snapshots(path)), None)


def list_snapshots(path: StrPath) -> list[Path]:
    """List the copies of a file of facts, the newest first."""
    return _list(path, "????-??-??")


def list_replaced(path: StrPath) -> list[Path]:
    """List the files that restores replaced, the newest first. They may be damaged."""
    return sorted(_list(path, f"{_REPLACED}*"), key=_order_replaced, reverse=True)


def list_all_snapshots(path: StrPath) -> list[Path]:
    """List all that is kept of a file of facts beside it."""
    return [*list_snapshots(path), *list_replaced(path)]


def name_replaced(path: Path, now: float) -> Path:
    """Name a file that a restore replaces, after all that were replaced in the same second."""
    second = time.strftime("%Y-%m-%dT%H%M%SZ", time.gmtime(now))
    taken = [_order_replaced(one)[1] for one in _list(path, f"{_REPLACED}{second}*")]
    # The number of a file that is no longer kept is not used again: the newest has the highest.
    number = max(taken, default=0) + 1
    end = f"-{number}" if number > 1 else ""
    return find_folder(path) / f"{path.stem}-{_REPLACED}{second}{end}.sqlite3"


def _order_replaced(file: Path) -> tuple[str, int]:
    """Return the second at which a file was replaced, and its number in that second."""
    second, _, number = file.stem.rpartition(_REPLACED)[2].partition("Z")
    return second, int(number[1:]) if number[1:].isdecimal() else 1


def _list(path: StrPath, pattern: str) -> list[Path]:
    own = Path(path)
    found = find_folder(own).glob(f"{glob_escape(own.stem)}-{pattern}.sqlite3")
    return sorted((one for one in found if one.is_file()), reverse=True)


def glob_escape(name: str) -> str:
    """Return a pattern that only a name itself fits."""
    return "".join(f"[{mark}]" if mark in "*?[" else mark for mark in name)


@contextmanager
def hold_snapshots(path: StrPath) -> Iterator[None]:
    """Keep other processes from making snapshots meanwhile. What a killed one left is removed.

    Raises:
        OSError: the folder cannot be made, or another process holds it too long.
    """
    folder = find_folder(Path(path))
    folder.mkdir(mode=0o700, exist_ok=True)
    with hold_lock(folder / f"{Path(path).stem}.lock", WAIT_S):
        for left in folder.glob(f"{glob_escape(Path(path).stem)}-*{UNFINISHED}*"):
            left.unlink(missing_ok=True)
        yield


def is_lost(path: StrPath) -> bool:
    """Tell whether a file of which there is a snapshot is missing or empty."""
    try:
        is_empty = os.stat(path).st_size == 0
    except FileNotFoundError:
        is_empty = True
    except OSError:
        return False
    return is_empty and find_last_snapshot(path) is not None


def verify_structure(database: Database) -> None:
    """Look through a file of a usual size for damage.

    Raises:
        StoreUnavailableError: it is damaged; its cause says so.
    """
    if os.stat(database.path).st_size <= CHECKED_BYTES_MAX:
        with database.reading() as db:
            _require_sound(db)


def _require_sound(db: sqlite3.Connection) -> None:
    (line,) = db.execute("PRAGMA quick_check(1)").fetchone()
    if line != "ok":
        error = sqlite3.DatabaseError(str(line))
        error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise error


def _has_facts(database: Database) -> bool:
    with database.reading() as db:
        return db.execute("SELECT 1 FROM change LIMIT 1").fetchone() is not None


def _copy(database: Database, to: Path) -> None:
    """Copy a file wholly, on the disk when this returns; nothing half-made is left."""
    os.close(os.open(to, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    try:
        with database.reading() as db:
            _require_sound(db)
        # A reader may copy, too: this writes only the copy.
        with closing(connect_read_only(database.path)) as db:
            copy_into(db, to)
        descriptor = os.open(to, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except sqlite3.Error as error:
        with suppress(OSError):
            os.unlink(to)
        raise StoreUnavailableError(f"{database.path}: {error}") from error
    except BaseException:
        with suppress(OSError):
            os.unlink(to)
        raise


def find_folder(path: Path) -> Path:
    """Return the folder of a file's snapshots."""
    return path.parent / _FOLDER
