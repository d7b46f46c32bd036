"""Opening the file: settings, migrations, a damaged file set aside, a read-only one still read."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kb import compression
from kb.errors import (
    StoreBusyError,
    StoreCorruptError,
    StoreUnavailableError,
    translated,
)
from kb.schema import SchemaTooNewError, migrate

BUSY_TIMEOUT_S = 30.0
"""How long a writer waits for others. Transactions are short, so only a stuck one takes longer."""

OTHERS_WAIT_S = 1.0
"""The same for a store of another project, which is passed over then."""

_SIDE_FILES = ("", "-wal", "-shm")


def connect(
    path: Path, *, read_only: bool = False, wait_s: float = BUSY_TIMEOUT_S
) -> sqlite3.Connection:
    """A connection with this project's settings; transactions are begun explicitly.

    Raises:
        sqlite3.Error: as SQLite reports it.
    """
    if read_only:
        return _read_only(path)
    db = _open(path.absolute().as_uri(), wait_s)
    try:
        # A new file is made so, an older one becomes so when it is next rewritten as a whole.
        db.execute("PRAGMA auto_vacuum = INCREMENTAL")
        db.execute("PRAGMA foreign_keys = ON")
        db.execute("PRAGMA temp_store = MEMORY")
        db.execute("PRAGMA cache_size = -16384")  # 16 MiB; the system caches the file besides
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("PRAGMA wal_autocheckpoint = 4000")  # 16 MB
    except BaseException:
        db.close()
        raise
    return db


def _open(uri: str, wait_s: float = BUSY_TIMEOUT_S) -> sqlite3.Connection:
    db = sqlite3.connect(
        uri, uri=True, timeout=wait_s, isolation_level=None, check_same_thread=False
    )
    compression.register(db)
    return db


def _read_only(path: Path) -> sqlite3.Connection:
    """A connection that only reads. Where not even the files that readers share can be made, the
    file is read as if nobody else could change it, which is then so."""
    uri = path.absolute().as_uri()
    db = _open(f"{uri}?mode=ro")
    try:
        db.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        db.close()
        return _open(f"{uri}?immutable=1")
    return db


def prepare(path: Path, *, create: bool, of_others: bool = False) -> tuple[bool, tuple[str, ...]]:
    """Make the file ready for `connect`: exists, sound, current. One `of_others` is never set
    aside, and waited for but a moment.

    Returns whether it can only be read, and what a person should know about it.

    Raises:
        StoreUnavailableError: it does not exist and may not be created, or a later release wrote
            it.
        StoreError: SQLite refuses it for another reason.
    """
    if not path.exists():
        if not create:
            raise StoreUnavailableError(f"{path}: no store here; index something first")
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise StoreUnavailableError(f"{path.parent}: {error.strerror}") from error
    elif not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK):
        return True, (f"{path} is read-only: searching works, storing does not",)
    if of_others:
        with _sole(path, OTHERS_WAIT_S):
            _migrated(path, OTHERS_WAIT_S)
        return False, ()
    with _sole(path):
        try:
            _migrated(path)
        except StoreCorruptError as error:
            aside = set_aside(path)
            _migrated(path)
            return False, (f"{error}; the damaged file is kept as {aside}, a new one was begun",)
    return False, ()


def _migrated(path: Path, wait_s: float = BUSY_TIMEOUT_S) -> None:
    with translated(path):
        db = connect(path, wait_s=wait_s)
        try:
            migrate(db)
        except SchemaTooNewError as error:
            raise StoreUnavailableError(
                f"{path}: written by a later release (it knows {error}): update this program"
            ) from error
        finally:
            db.close()
    path.chmod(0o600)


def set_aside(path: Path) -> Path:
    """Rename a damaged file and its write-ahead log, so that nothing of it is lost."""
    stamp = time.strftime("%Y%m%dT%H%M%S")
    aside = path.with_name(f"{path.name}.corrupt-{stamp}-{os.getpid()}")
    for suffix in _SIDE_FILES:
        side = path.with_name(path.name + suffix)
        if side.exists():
            side.rename(aside.with_name(aside.name + suffix))
    return aside


@contextmanager
def _sole(path: Path, wait_s: float | None = None) -> Iterator[None]:
    """One process at a time makes, migrates or sets aside a file."""
    try:
        handle = os.open(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise StoreUnavailableError(f"{path}: {error.strerror}") from error
    try:
        if wait_s is None:
            fcntl.flock(handle, fcntl.LOCK_EX)
        else:
            _lock_within(handle, path, wait_s)
        yield
    finally:
        os.close(handle)


def _lock_within(handle: int, path: Path, wait_s: float) -> None:
    end = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                raise StoreBusyError(f"{path}: another process is opening it") from None
            time.sleep(0.02)
        else:
            return


def copy_to(db: sqlite3.Connection, target: Path) -> None:
    """A consistent copy of a file at `target`.

    Raises:
        FileExistsError: something is there already.
        sqlite3.Error: it could not be written.
    """
    if target.exists():
        raise FileExistsError(f"{target} exists: choose another place")
    copy = sqlite3.connect(target)
    try:
        db.backup(copy)
    finally:
        copy.close()


def fts5_available() -> bool:
    """Whether this Python's SQLite can search: full-text tables with the trigram tokenizer."""
    db = sqlite3.connect(":memory:")
    try:
        db.execute("CREATE VIRTUAL TABLE probe USING fts5(x, tokenize='trigram')")
    except sqlite3.OperationalError:
        return False
    else:
        return True
    finally:
        db.close()
