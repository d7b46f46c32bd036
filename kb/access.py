"""Safe use of one file by many threads and processes: consistent reads, whole writes."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path

from base import stores
from base.locks import hold_lock
from base.stores import WAIT_S, SchemaError, Step, migrate, set_aside, transaction
from kb import compression, words
from kb.model import (
    StoreBusyError,
    StoreCorruptError,
    StoreReadOnlyError,
    StoreUnavailableError,
    translate_errors,
)
from kb.redaction import FindSecrets
from kb.schema import STEPS

OTHERS_WAIT_S = 1.0
"""The same for a store of another project, which is skipped after that."""

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
    """Open a connection with this project's settings; transactions are started explicitly.

    Raises:
        SchemaError: a read-only file has run more or fewer migration steps than `steps`.
    """
    if read_only:
        db = stores.connect_read_only(path, steps=steps, wait_s=wait_s)
    else:
        db = stores.connect(path, wait_s=wait_s, settings=SETTINGS)
    compression.register(db)
    words.register(db)
    return db


def prepare(path: Path, *, create: bool, of_others: bool = False) -> tuple[bool, tuple[str, ...]]:
    """Prepare the file for `connect`: it exists, is intact, and has the current schema. A store
    `of_others` is never set aside and waited for only briefly.

    Returns whether it can only be read, and what to tell the user about it.

    Raises:
        StoreUnavailableError: it is missing and may not be created, or another release wrote it.
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
            return False, (f"{error}; the damaged file is now {aside}, and a new one was created",)
    return False, ()


def connect_to_read(path: Path, *, deadline: float) -> sqlite3.Connection:
    """Open another project's store without creating, migrating or setting it aside. Queries end at
    `deadline`, as `time.monotonic` counts.

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
    """Lock the file while one process creates, migrates or sets it aside."""
    with ExitStack() as held:
        try:
            held.enter_context(hold_lock(path.with_name(path.name + ".lock"), wait_s))
        except BlockingIOError:
            raise StoreBusyError(f"{path}: another process is opening it") from None
        except OSError as error:
            raise StoreUnavailableError(f"{path}: {error.strerror}") from error
        yield


def copy_to(db: sqlite3.Connection, target: Path) -> None:
    """Write a consistent copy of a database to `target`.

    Raises:
        FileExistsError: the target exists already.
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
    """Return whether this Python's SQLite has full-text tables with the trigram tokenizer."""
    db = sqlite3.connect(":memory:")
    try:
        db.execute("CREATE VIRTUAL TABLE probe USING fts5(x, tokenize='trigram')")
    except sqlite3.OperationalError:
        return False
    else:
        return True
    finally:
        db.close()


Quota = Callable[[], int]
"""Returns a number of bytes. Called when something is written; searches do not need it."""


class Access:
    """Two connections to one file: writes wait for each other, reads never wait for a write."""

    def __init__(  # noqa: PLR0913 - how it is opened
        self,
        path: Path,
        *,
        create: bool,
        redact: FindSecrets | None = None,
        quota: Quota | None = None,
        of_others: bool = False,
        deadline: float | None = None,
    ) -> None:
        """Open the file, creating or migrating it if needed. `redact` finds what must not be
        stored; None stores everything. `quota` returns how much disk space the file may use. A
        store `of_others` is given up if it is damaged or stays locked for more than a moment. With
        a `deadline`, as `time.monotonic` counts, it is read until then and left as it is.

        Raises:
            StoreError: it cannot be opened.
        """
        self.path = path
        self.redact = redact
        self._quota = quota
        self.known_words: set[str] = set()
        """Some of the words in the vocabulary; only to be used while writing."""
        self._data_version = -1
        self._write_lock = threading.Lock()
        self._read_lock = threading.Lock()
        if deadline is not None:
            self.notices: tuple[str, ...] = ()
            self.read_only = True
            self._writer = None
            self._reader = connect_to_read(path, deadline=deadline)
            return
        wait_s = OTHERS_WAIT_S if of_others else WAIT_S
        self.read_only, self.notices = prepare(path, create=create, of_others=of_others)
        with translate_errors(path):
            self._writer = None if self.read_only else connect(path, wait_s=wait_s)
            try:
                self._reader = connect(path, read_only=self.read_only, wait_s=wait_s)
            except BaseException:
                if self._writer is not None:
                    self._writer.close()
                raise

    @cached_property
    def quota_bytes(self) -> int | None:
        """Return how much disk space the file may use; None is without a limit."""
        return None if self._quota is None else self._quota()

    def close(self) -> None:
        """Close both connections; safe to call twice."""
        with self._write_lock, self._read_lock:
            self._reader.close()
            if self._writer is not None:
                self._writer.close()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Provide one consistent view of the file."""
        with self._read_lock, translate_errors(self.path):
            self._reader.execute("BEGIN")
            try:
                yield self._reader
            finally:
                self._reader.execute("COMMIT")

    @contextmanager
    def writing(self, *, wait_s: float | None = None) -> Iterator[sqlite3.Connection]:
        """Provide one transaction, done wholly or not at all. `wait_s` is how long to wait for
        other writers, if not the default.

        Raises:
            StoreReadOnlyError: the file can only be read.
            StoreBusyError: another process or thread writes.
        """
        with self.exclusively(wait_s=wait_s) as db:
            try:
                with transaction(db, wait_s=wait_s):
                    self._forget_what_others_changed(db)
                    yield db
            except BaseException:
                self.known_words.clear()
                raise

    def _forget_what_others_changed(self, db: sqlite3.Connection) -> None:
        version = db.execute("PRAGMA data_version").fetchone()[0]
        if version != self._data_version:
            self._data_version = version
            self.known_words.clear()

    @contextmanager
    def exclusively(self, *, wait_s: float | None = None) -> Iterator[sqlite3.Connection]:
        """Provide the writing connection outside a transaction, for statements that cannot run in
        one. `wait_s` is how long to wait for other threads, if not the default.

        Raises:
            StoreReadOnlyError: the file can only be read.
            StoreBusyError: another thread writes.
        """
        if not self._write_lock.acquire(timeout=-1 if wait_s is None else wait_s):
            raise StoreBusyError(f"{self.path}: another thread is writing")
        try:
            with translate_errors(self.path):
                if self._writer is None:
                    raise StoreReadOnlyError(f"{self.path}: it is read-only: make it writable")
                yield self._writer
        finally:
            self._write_lock.release()
