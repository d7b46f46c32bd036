"""SQLite files that several processes use at once: opened, migrated, and checked for damage."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from types import MappingProxyType

TYPE_CHECKING = False
if TYPE_CHECKING:  # a hook's start imports this module, and none of these
    from pathlib import Path

    from base.plain_files import StrPath

WAIT_S = 30.0
"""Seconds that a writer waits for others, never on an event loop. Only a stuck one takes longer."""

NO_SETTINGS: Mapping[str, str | int] = MappingProxyType({})

_NOT_SHARED = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR)
"""SQLite's codes if the files that readers share cannot be made."""

_DAMAGE = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_SIDE_FILES = ("", "-wal", "-shm")

CORRUPT = ".corrupt-"
"""The suffix of a damaged file that was set aside."""

_AGAIN_S = 0.005

Step = Callable[[sqlite3.Connection], None]


class SchemaError(Exception):
    """A later release wrote the file; or it has tables, and no schema number."""


def open_current(
    path: StrPath,
    steps: Sequence[Step],
    *,
    wait_s: float = WAIT_S,
    settings: Mapping[str, str | int] = NO_SETTINGS,
    unnumbered: str = "",
) -> sqlite3.Connection:
    """Open a file for reading and writing with all steps applied. It is created if missing, for its
    owner alone. `settings` and `unnumbered` are as for `connect` and `migrate`.

    Raises:
        SchemaError: a later release wrote it.
        OSError: it cannot be made.
    """
    _make_private(path)
    deadline = time.monotonic() + wait_s
    while True:
        try:
            db = connect(path, wait_s=wait_s, settings=settings)
            try:
                migrate(db, steps, unnumbered)
            except BaseException:
                db.close()
                raise
        except sqlite3.OperationalError as error:
            # Two processes that create a file at once may find it locked while one of them turns on
            # its log, for which SQLite does not wait.
            if _primary_code(error) not in _BUSY or time.monotonic() >= deadline:
                raise
        else:
            with suppress(OSError):  # it is another user's
                os.chmod(path, 0o600)
            return db
        time.sleep(_AGAIN_S)


def _make_private(path: StrPath) -> None:
    """Create a file for its owner alone if it is missing; SQLite gives its log the same rights. An
    existing one is not opened: closing it would end the locks that another connection of this
    process has on it."""
    os.makedirs(os.path.dirname(path) or ".", mode=0o700, exist_ok=True)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def connect(
    path: StrPath,
    *,
    wait_s: float = WAIT_S,
    settings: Mapping[str, str | int] = NO_SETTINGS,
) -> sqlite3.Connection:
    """Open a file for reading and writing, created if missing, with a write-ahead log. Transactions
    are started explicitly. `settings` are pragmas, set before the log is. Without one of
    `synchronous` the last transactions may be lost with the machine's power, never the file."""
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
    """Turn on the write-ahead log. One process does so for a new file; SQLite does not wait for
    that by itself."""
    deadline = time.monotonic() + wait_s
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if _primary_code(error) != sqlite3.SQLITE_BUSY or time.monotonic() >= deadline:
                raise
            time.sleep(_AGAIN_S)
        else:
            return


def connect_read_only(
    path: StrPath, *, steps: Sequence[Step] | None = None, wait_s: float = WAIT_S
) -> sqlite3.Connection:
    """Open a file for reading only; with `steps`, one that has exactly these applied.

    If the files that readers share can't be made either, nobody can write: the file is read as one
    that never changes.

    Raises:
        SchemaError: it has more or fewer steps applied.
    """
    db = _open(f"{_uri(path)}?mode=ro", wait_s)
    try:
        try:
            db.execute("SELECT 1 FROM sqlite_master").fetchone()
        except sqlite3.Error as error:
            if _primary_code(error) not in _NOT_SHARED:
                raise
            db.close()
            db = _open(f"{_uri(path)}?immutable=1", wait_s)
        if steps is not None and _version(db, steps) < len(steps):
            message = "an earlier release wrote it: using its project updates it"
            raise SchemaError(message)
    except BaseException:
        db.close()
        raise
    return db


def migrate(db: sqlite3.Connection, steps: Sequence[Step], unnumbered: str = "") -> None:
    """Run the steps that the file lacks, each in a transaction with its `user_version`.

    A released step is never edited: a change is a new one at the end. A file with the table
    `unnumbered` and no number has the first step applied.

    Raises:
        SchemaError: the file has more steps applied than there are, or tables without a version.
    """
    while (version := _version(db, steps, unnumbered)) < len(steps):
        with transaction(db):
            if _version(db, steps, unnumbered) == version:  # another process may have been faster
                steps[version](db)
                db.execute(f"PRAGMA user_version = {version + 1}")


def run_script(db: sqlite3.Connection, module: str, name: str) -> None:
    """Run the statements of a file in the folder of a module's file. `executescript` would end the
    transaction."""
    with open(os.path.join(os.path.dirname(module), name), encoding="utf-8") as file:
        for statement in file.read().split(";\n"):
            db.execute(statement)


@contextmanager
def transaction(
    db: sqlite3.Connection, *, wait_s: float | None = None
) -> Iterator[sqlite3.Connection]:
    """Open one transaction that writes, done wholly or not at all. `wait_s` is how long to wait for
    other writers, by default the connection's limit."""
    if wait_s is not None:
        (usual,) = db.execute("PRAGMA busy_timeout").fetchone()
        db.execute(f"PRAGMA busy_timeout = {int(wait_s * 1000)}")
    try:
        db.execute("BEGIN IMMEDIATE")
    finally:
        if wait_s is not None:
            db.execute(f"PRAGMA busy_timeout = {usual}")
    try:
        yield db
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def is_damage(error: BaseException) -> bool:
    """Return whether an error, or its cause, means that a file is damaged or not a database."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, sqlite3.DatabaseError):
        cause = cause.__cause__
    return cause is not None and _primary_code(cause) in _DAMAGE


def require_sound(db: sqlite3.Connection) -> None:
    """Check the structure of a file.

    Raises:
        sqlite3.DatabaseError: it is damaged.
    """
    (line,) = db.execute("PRAGMA quick_check(1)").fetchone()
    if line != "ok":
        error = sqlite3.DatabaseError(" ".join(str(line).split()))
        error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise error


def has_damage(path: StrPath) -> bool:
    """Return whether a file is damaged; one that others keep locked counts as intact."""
    try:
        with closing(connect_read_only(path)) as db:
            require_sound(db)
    except sqlite3.DatabaseError as error:
        return is_damage(error)
    return False


def _primary_code(error: BaseException) -> int:
    """Return SQLite's primary code; 0 for an error that has none."""
    return int(getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF


def set_aside(path: Path, mark: str = "") -> Path:
    """Rename a damaged file and its write-ahead log, so that no part of it is lost. Its new name
    ends with `mark`."""
    stamp = time.strftime("%Y%m%dT%H%M%S")
    aside = path.with_name(f"{path.name}{CORRUPT}{stamp}-{os.getpid()}{mark}")
    for suffix in _SIDE_FILES:
        side = path.with_name(path.name + suffix)
        if side.exists():
            side.rename(aside.with_name(aside.name + suffix))
    return aside


def _version(db: sqlite3.Connection, steps: Sequence[Step], unnumbered: str = "") -> int:
    # Before the number: another process commits both at once, perhaps between these two.
    has_tables = db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is not None
    version: int = db.execute("PRAGMA user_version").fetchone()[0]
    if version > len(steps):
        raise SchemaError(
            f"its schema is {version}, the newest known is {len(steps)}: update this program"
        )
    if has_tables and not version:
        named = "SELECT 1 FROM sqlite_master WHERE name = ?"
        if unnumbered and db.execute(named, (unnumbered,)).fetchone():
            return 1
        raise SchemaError(
            "its tables have no schema number: move the file away, and a new one is created"
        )
    return version


def copy_into(db: sqlite3.Connection, to: StrPath) -> None:
    """Copy the whole content into a new file, which may have any name and is its owner's alone. It
    is on the disk when this returns; no partial copy is left.

    Raises:
        OSError: it cannot be created, or exists already.
    """
    os.close(os.open(to, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    try:
        db.execute("VACUUM INTO CAST(? AS TEXT)", (os.fsencode(to),))
        sync(to)
    except BaseException:
        with suppress(OSError):
            os.unlink(to)
        raise


def sync(path: StrPath) -> None:
    """Flush a file, or the names in a folder, to the disk when this returns.

    Raises:
        OSError: it cannot be opened, or the disk fails.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _uri(path: StrPath) -> str:
    """Return the URI of a file, with special characters escaped."""
    whole = os.path.join(os.getcwd(), os.fspath(path))
    for mark in "%?#":
        whole = whole.replace(mark, f"%{ord(mark):X}")
    if not whole.isascii():  # a name need not be UTF-8
        whole = "".join(chr(one) if one < 0x80 else f"%{one:X}" for one in os.fsencode(whole))
    return f"file://{whole}"


def _open(uri: str, wait_s: float) -> sqlite3.Connection:
    return sqlite3.connect(
        uri, uri=True, timeout=wait_s, isolation_level=None, check_same_thread=False
    )
