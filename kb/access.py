"""Safe use of one file by many threads and processes: consistent reads, whole writes."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kb.connection import connect, prepare
from kb.errors import StoreReadOnlyError, translated
from kb.redaction import FindSecrets


class Access:
    """Two connections to one file: writes wait for each other, reads never wait for a write."""

    def __init__(self, path: Path, *, create: bool, redact: FindSecrets | None = None) -> None:
        """Open the file, making or migrating it where needed. `redact` finds what must not be
        stored; None stores everything.

        Raises:
            StoreError: it cannot be opened.
        """
        self.path = path
        self.redact = redact
        read_only, self.notices = prepare(path, create=create)
        self.known_words: set[str] = set()
        """Some of the words that the vocabulary has; only to be used while writing."""
        self._data_version = -1
        self._write_lock = threading.Lock()
        self._read_lock = threading.Lock()
        with translated(path):
            self._writer = None if read_only else connect(path)
            self._reader = connect(path, read_only=read_only)

    @property
    def read_only(self) -> bool:
        return self._writer is None

    def close(self) -> None:
        """Close both connections; safe to call twice."""
        with self._write_lock, self._read_lock:
            self._reader.close()
            if self._writer is not None:
                self._writer.close()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One consistent view of the file."""
        with self._read_lock, translated(self.path):
            self._reader.execute("BEGIN")
            try:
                yield self._reader
            finally:
                self._reader.execute("COMMIT")

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction, done wholly or not at all.

        Raises:
            StoreReadOnlyError: the file can only be read.
        """
        with self.exclusively() as db:
            db.execute("BEGIN IMMEDIATE")
            self._forget_what_others_changed(db)
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                self.known_words.clear()
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise

    def _forget_what_others_changed(self, db: sqlite3.Connection) -> None:
        version = db.execute("PRAGMA data_version").fetchone()[0]
        if version != self._data_version:
            self._data_version = version
            self.known_words.clear()

    @contextmanager
    def exclusively(self) -> Iterator[sqlite3.Connection]:
        """The writing connection outside a transaction, for what cannot run within one.

        Raises:
            StoreReadOnlyError: the file can only be read.
        """
        with self._write_lock, translated(self.path):
            if self._writer is None:
                raise StoreReadOnlyError(f"{self.path}: it is read-only: make it writable")
            yield self._writer
