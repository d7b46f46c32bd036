"""Opening and migrating SQLite files that several processes use at once."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

TYPE_CHECKING = False
if TYPE_CHECKING:  # a hook's start imports this module, and none of these
    from pathlib import Path

    from base.plain_files import StrPath

BUSY_TIMEOUT_S = 30.0
"""How long a writer waits for others. Transactions are short, so only a stuck one takes longer."""

NO_SETTINGS: Mapping[str, str | int] = MappingProxyType({})

_NOT_SHARED = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR)
"""What SQLite reports where the files that readers share cannot be made."""

_SIDE_FILES = ("", "-wal", "-shm")

CORRUPT = ".corrupt-"
"""Behind the name of a damaged file that was set aside."""

_AGAIN_S = 0.005

Step = Callable[[sqlite3.Connection], None]


class SchemaError(Exception):
    """A later release wrote the file; or it has tables, and no number of a schema."""


def connect(
    path: StrPath,
    *,
    wait_s: float = BUSY_TIMEOUT_S,
    settings: Mapping[str, str | int] = NO_SETTINGS,
) -> sqlite3.Connection:
    """Open a file for reading and writing, made where it is missing, with a write-ahead log.

    Transactions are begun explicitly. `settings` are pragmas, set before the log is. Without one
    of `synchronous` the last transactions may be lost with the machine's power, never the file.

    Raises:
        sqlite3.Error: as SQLite reports it.
    """
    db = _open(_uri(path), wait_s)
    try:
        for name, value in {"synchronous": "NORMAL", **settings}.items():
            db.execute(f"PRAGMA {name} = {value}")
        _keep_log(db, wait_s)
    except BaseException:
        db.close()
        raise
    return db


def _keep_log(db: sqlite3.Connection, wait_s: float) -> None:
    """Have a write-ahead log. A new file gets it from one process, and SQLite does not wait for
    that by itself."""
    deadline = time.monotonic() + wait_s
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code != sqlite3.SQLITE_BUSY or time.monotonic() >= deadline:
                raise
            time.sleep(_AGAIN_S)
        else:
            return


def connect_read_only(path: StrPath, *, wait_s: float = BUSY_TIMEOUT_S) -> sqlite3.Connection:
    """Open a file for reading alone.

    Where the files that readers share can't be made either, nobody can write: the file is read as
    one that never changes.

    Raises:
        sqlite3.Error: as SQLite reports it.
    """
    uri = _uri(path)
    db = _open(f"{uri}?mode=ro", wait_s)
    try:
        db.execute("SELECT 1 FROM sqlite_master").fetchone()
    except BaseException as error:
        db.close()
        if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _NOT_SHARED:
            raise
        return _open(f"{uri}?immutable=1", wait_s)
    return db


def require_current(db: sqlite3.Connection, steps: Sequence[Step]) -> None:
    """Make sure that a file which is only read has these steps behind it.

    Raises:
        SchemaError: it has more or fewer of them.
    """
    if _version(db, steps) < len(steps):
        raise SchemaError("it is of an earlier release: using its project brings it up to date")


def migrate(db: sqlite3.Connection, steps: Sequence[Step]) -> None:
    """Run the steps that the file has not seen, each in a transaction with its `user_version`.

    A released step is never edited: a change is a new one at the end.

    Raises:
        SchemaError: the file has more steps behind it than there are, or tables without a version.
    """
    while (version := _version(db, steps)) < len(steps):
        db.execute("BEGIN IMMEDIATE")
        try:
            if _version(db, steps) == version:  # another process may have been faster
                steps[version](db)
                db.execute(f"PRAGMA user_version = {version + 1}")
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise


def set_aside(path: Path, mark: str = "") -> Path:
    """Rename a damaged file and its write-ahead log, so that nothing of it is lost. Its new name
    ends with `mark`."""
    stamp = time.strftime("%Y%m%dT%H%M%S")
    aside = path.with_name(f"{path.name}{CORRUPT}{stamp}-{os.getpid()}{mark}")
    for suffix in _SIDE_FILES:
        side = path.with_name(path.name + suffix)
        if side.exists():
            side.rename(aside.with_name(aside.name + suffix))
    return aside


def _version(db: sqlite3.Connection, steps: Sequence[Step]) -> int:
    # Before the number: another process commits both at once, perhaps between these two.
    has_tables = db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is not None
    version: int = db.execute("PRAGMA user_version").fetchone()[0]
    if version > len(steps):
        raise SchemaError(
            f"its schema is {version}, the newest known is {len(steps)}: update this program"
        )
    if has_tables and not version:
        raise SchemaError(
            "its tables have no schema's number: move the file away, and a new one is made"
        )
    return version


def copy_into(db: sqlite3.Connection, to: StrPath) -> None:
    """Copy the whole content into an empty file, which may have any name.

    Raises:
        sqlite3.Error: as SQLite reports it.
    """
    db.execute("VACUUM INTO CAST(? AS TEXT)", (os.fsencode(to),))


def _uri(path: StrPath) -> str:
    """Return the URI of a file, in which some characters have a meaning of their own."""
    whole = os.path.join(os.getcwd(), os.fspath(path))
    for mark in "%?#":
        whole = whole.replace(mark, f"%{ord(mark):X}")
    if not whole.isascii():  # a name need be no UTF-8
        whole = "".join(chr(one) if one < 0x80 else f"%{one:X}" for one in os.fsencode(whole))
    return f"file://{whole}"


def _open(uri: str, wait_s: float) -> sqlite3.Connection:
    return sqlite3.connect(
        uri, uri=True, timeout=wait_s, isolation_level=None, check_same_thread=False
    )
