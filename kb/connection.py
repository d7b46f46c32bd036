"""Opening the file: settings, schema, a damaged file set aside, a read-only one still read."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from base import stores
from base.locks import hold_lock
from base.stores import WAIT_S, SchemaError, Step, migrate, set_aside
from kb import compression, words
from kb.errors import (
    StoreBusyError,
    StoreCorruptError,
    StoreUnavailableError,
    translate_errors,
)
from kb.schema import STEPS

OTHERS_WAIT_S = 1.0
"""The same for a store of another project, which is passed over then."""

STEPS_AT_ONCE = 10_000
"""After how many of its steps SQLite is asked whether it is late."""

SETTINGS: Mapping[str, str | int] = {
    # A new file is made so; an older one becomes so when it is next rewritten as a whole.
    "auto_vacuum": "INCREMENTAL",
    "foreign_keys": "ON",
    "temp_store": "MEMORY",
    "cache_size": -16384,  # 16 MiB; the system caches the file besides
    "wal_autocheckpoint": 4000,  # 16 MB
}


def connect(
    path: Path,
    *,
    read_only: bool = False,
    wait_s: float = WAIT_S,
    steps: Sequence[Step] | None = None,
) -> sqlite3.Connection:
    """A connection with this project's settings; transactions are begun explicitly.

    Raises:
        SchemaError: a file that is only read has more or fewer steps behind it than `steps`.
        sqlite3.Error: as SQLite reports it.
    """
    if read_only:
        db = stores.connect_read_only(path, steps=steps, wait_s=wait_s)
    else:
        db = stores.connect(path, wait_s=wait_s, settings=SETTINGS)
    compression.register(db)
    words.register(db)
    return db


def prepare(path: Path, *, create: bool, of_others: bool = False) -> tuple[bool, tuple[str, ...]]:
    """Make the file ready for `connect`: exists, sound, current. One `of_others` is never set
    aside, and waited for but a moment.

    Returns whether it can only be read, and what a person should know about it.

    Raises:
        StoreUnavailableError: it does not exist and may not be created, or another release wrote
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
            _migrate(path, OTHERS_WAIT_S)
        return False, ()
    with _sole(path):
        try:
            _migrate(path)
        except StoreCorruptError as error:
            aside = set_aside(path)
            _migrate(path)
            return False, (f"{error}; the damaged file is kept as {aside}, a new one was begun",)
    return False, ()


def connect_to_read(path: Path, *, deadline: float) -> sqlite3.Connection:
    """A connection to a store of another project, which is neither made, migrated nor set aside.
    What is asked of it ends at `deadline`, as `time.monotonic` counts.

    Raises:
        StoreError: it does not exist, is damaged, or another release wrote it.
    """
    if not path.exists():
        raise StoreUnavailableError(f"{path}: no store here")
    with translate_errors(path):
        try:
            db = connect(path, read_only=True, wait_s=OTHERS_WAIT_S, steps=STEPS)
        except SchemaError as error:
            raise StoreUnavailableError(f"{path}: another release wrote it: {error}") from error
        db.set_progress_handler(lambda: time.monotonic() >= deadline, STEPS_AT_ONCE)
    return db


def _migrate(path: Path, wait_s: float = WAIT_S) -> None:
    with translate_errors(path):
        db = connect(path, wait_s=wait_s)
        try:
            migrate(db, STEPS)
        except SchemaError as error:
            raise StoreUnavailableError(f"{path}: another release wrote it: {error}") from error
        finally:
            db.close()
    path.chmod(0o600)


@contextmanager
def _sole(path: Path, wait_s: float | None = None) -> Iterator[None]:
    """One process at a time makes, migrates or sets aside a file."""
    with ExitStack() as held:
        try:
            held.enter_context(hold_lock(path.with_name(path.name + ".lock"), wait_s))
        except BlockingIOError:
            raise StoreBusyError(f"{path}: another process is opening it") from None
        except OSError as error:
            raise StoreUnavailableError(f"{path}: {error.strerror}") from error
        yield


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
