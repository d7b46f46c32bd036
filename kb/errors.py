"""What can go wrong with a store, by who can help: each error says what to do."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class StoreError(Exception):
    """A store could not do what was asked."""


class StoreUnavailableError(StoreError):
    """The file cannot be opened or made."""


class StoreReadOnlyError(StoreError):
    """The file or its folder may be read but not written; searching still works."""


class StoreFullError(StoreError):
    """The disk or a quota of the file system is full; what was stored before is intact."""


class StoreQuotaError(StoreError):
    """The store's quota has no room for it; what was stored before is intact."""


class StoreBusyError(StoreError):
    """Other processes held the file for longer than the busy timeout."""


class StoreCorruptError(StoreError):
    """The file is damaged: opening it anew sets it aside and starts a fresh one."""


class StoreLateError(StoreError):
    """Reading it took longer than it may."""


class UnknownSourceError(StoreError):
    """No source has this id, or its content was purged."""


_CAUSES: tuple[tuple[int, type[StoreError], str], ...] = (
    (sqlite3.SQLITE_FULL, StoreFullError, "the disk is full: free space, or purge old sources"),
    (sqlite3.SQLITE_IOERR, StoreFullError, "the disk reported an error or is full"),
    (sqlite3.SQLITE_READONLY, StoreReadOnlyError, "it is read-only: make it writable"),
    (sqlite3.SQLITE_PERM, StoreReadOnlyError, "its permissions forbid writing"),
    (sqlite3.SQLITE_BUSY, StoreBusyError, "other processes keep it locked: try again"),
    (sqlite3.SQLITE_LOCKED, StoreBusyError, "it is locked: try again"),
    (sqlite3.SQLITE_CORRUPT, StoreCorruptError, "it is damaged: run `kept check`"),
    (sqlite3.SQLITE_NOTADB, StoreCorruptError, "it is no SQLite database"),
    (sqlite3.SQLITE_INTERRUPT, StoreLateError, "reading it takes too long"),
    (
        sqlite3.SQLITE_CANTOPEN,
        StoreUnavailableError,
        "it cannot be opened: check folder and rights",
    ),
)


@contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """SQLite's errors inside become one of ours, naming the file and what to do.

    Raises:
        StoreError: the subclass that fits SQLite's primary result code.
    """
    try:
        yield
    except zlib.error as error:
        raise StoreCorruptError(f"{path}: a text in it is damaged: run `kept check`") from error
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", None)
        if code is None:
            raise
        for primary, wrapped, advice in _CAUSES:
            if code & 0xFF == primary:
                raise wrapped(f"{path}: {advice} ({error})") from error
        raise
