"""Safe use of one file by many threads and processes: consistent reads, whole writes."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from base.stores import WAIT_S, transaction
from kb.connection import OTHERS_WAIT_S, connect, connect_to_read, prepare
from kb.errors import StoreBusyError, StoreReadOnlyError, translate_errors
from kb.redaction import FindSecrets

Quota = Callable[[], int]
"""Tells a number of bytes. It is asked when something is written: a search does without."""


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
        """Open the file, making or migrating it where needed. `redact` finds what must not be
        stored; None stores everything. `quota` tells what the file may take on the disk. One
        `of_others` is given up where it is locked for longer than a moment, or damaged. With a
        `deadline`, as `time.monotonic` counts, it is left as it is, and read until then.

        Raises:
            StoreError: it cannot be opened.
        """
        self.path = path
        self.redact = redact
        self._quota = quota
        self.known_words: set[str] = set()
        """Some of the words that the vocabulary has; only to be used while writing."""
        self._data_version = -1
        self._write_lock = threading.Lock()
        self._read_lock = threading.Lock()
        if deadline is not None:
            self.notices: tuple[str, ...] = ()
            self._writer = None
            self._reader = connect_to_read(path, deadline=deadline)
            return
        wait_s = OTHERS_WAIT_S if of_others else WAIT_S
        read_only, self.notices = prepare(path, create=create, of_others=of_others)
        with translate_errors(path):
            self._writer = None if read_only else connect(path, wait_s=wait_s)
            try:
                self._reader = connect(path, read_only=read_only, wait_s=wait_s)
            except BaseException:
                if self._writer is not None:
                    self._writer.close()
                raise

    @cached_property
    def quota_bytes(self) -> int | None:
        """How much the file may take on the disk; None is without a limit."""
        return None if self._quota is None else self._quota()

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
        with self._read_lock, translate_errors(self.path):
            self._reader.execute("BEGIN")
            try:
                yield self._reader
            finally:
                self._reader.execute("COMMIT")

    @contextmanager
    def writing(self, *, wait_s: float | None = None) -> Iterator[sqlite3.Connection]:
        """One transaction, done wholly or not at all. `wait_s` is how long to wait for other
        writers, if not as long as may be.

        Raises:
            StoreReadOnlyError: the file can only be read.
            StoreBusyError: another one writes.
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
        """The writing connection outside a transaction, for what cannot run within one. `wait_s` is
        how long to wait for other threads, if not as long as may be.

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
