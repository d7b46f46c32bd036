"""A store's files: opened, migrated, read and written in transactions.

Writers wait for each other in SQLite, each up to its limit. Another lock records who has a file
open: any number of stores at once, or one restore alone. A file that SQLite has open must not be
replaced by another: processes that opened it before would write into the other's log.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress

from base.locks import POLL_S, hold_lock, is_held
from base.stores.sqlite_files import (
    NO_SETTINGS,
    WAIT_S,
    SchemaError,
    Step,
    connect_read_only,
    open_current,
    transaction,
)

TYPE_CHECKING = False
if TYPE_CHECKING:  # a hook's start imports this module, and none of these
    from typing import Self

    from base.plain_files import StrPath

FOLDER = "snapshots"
"""The name of the folder of a file's copies, next to it."""

_LOCK = ".lock"
_GATE = ".restoring"
"""Held while a restore waits until nobody has the file open, so that no more come."""

_SETTINGS: Mapping[str, str | int] = {
    "auto_vacuum": "INCREMENTAL",
    "foreign_keys": "ON",
    "secure_delete": "ON",  # deleted text leaves no byte in the file
    "cache_size": -8192,  # 8 MiB
}


class RemediedError(Exception):
    """A failure whose message names the problem, and `remedy` the solution."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


class StoreUnavailableError(RemediedError):
    """The file cannot be opened, is locked for too long, or another release wrote it."""


class ReadOnlyError(RemediedError):
    """The file can only be read."""


class Database:
    """The open file, for one thread at a time."""

    def __init__(  # noqa: PLR0913 - how it is opened
        self,
        path: StrPath,
        steps: Sequence[Step],
        *,
        holds: str,
        create: bool = True,
        read_only: bool = False,
        wait_s: float = WAIT_S,
        settings: Mapping[str, str | int] = NO_SETTINGS,
    ) -> None:
        """Open the file, created and migrated by `steps` if needed. With `read_only` it is neither.
        `holds` names the content in a word, such as "sessions".

        Raises:
            StoreUnavailableError: it is missing and not to be made, damaged, or cannot be opened.
        """
        self.path = path
        self.notices: tuple[str, ...] = ()
        self.is_read_only = read_only or (os.path.exists(path) and not _is_writable(path))
        if (read_only or not create) and not os.path.exists(path):
            raise StoreUnavailableError(f"{path}: no {holds} are stored yet")
        with _translated(path):
            if read_only:
                self._db = connect_read_only(path, steps=steps, wait_s=wait_s)
            elif self.is_read_only:
                self._db = connect_read_only(path, wait_s=wait_s)
                self.notices = (f"{path} is read-only: {holds} can be read, not added",)
            else:
                used = {**_SETTINGS, **settings}
                try:
                    self._db = open_current(path, steps, wait_s=wait_s, settings=used)
                except OSError as error:
                    where = error.filename or path
                    raise StoreUnavailableError(f"{where}: {error.strerror}") from error

    def close(self) -> None:
        """Close the file; safe to call twice."""
        self._db.close()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Open one consistent view of the file."""
        with _translated(self.path):
            self._db.execute("BEGIN")
            try:
                yield self._db
            finally:
                self._db.execute("ROLLBACK")

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Open one transaction, done wholly or not at all.

        Raises:
            ReadOnlyError: the file can only be read.
        """
        with self.exclusively() as db, transaction(db):
            yield db

    @contextmanager
    def exclusively(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection outside of a transaction, for statements that need that."""
        if self.is_read_only:
            raise ReadOnlyError(f"{self.path} is read-only", "Make it writable.")
        with _translated(self.path):
            yield self._db


class OpenStore:
    """A store that is open: its file, and the lock by which it shares that with others."""

    database: Database
    _held: ExitStack

    @property
    def notices(self) -> tuple[str, ...]:
        """List notices about the file for the user, such as that it is read-only."""
        return self.database.notices

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; safe to call twice."""
        self.database.close()
        self._held.close()


def _is_writable(path: StrPath) -> bool:
    return os.access(path, os.W_OK) and os.access(os.path.dirname(path) or ".", os.W_OK)


@contextmanager
def _translated(path: StrPath) -> Iterator[None]:
    try:
        yield
    except (SchemaError, sqlite3.Error) as error:
        raise StoreUnavailableError(f"{path}: {error}") from error


def name_lock(path: StrPath) -> str:
    """Return the path of a file's lock, which is among its copies."""
    folder, name = os.path.split(os.fspath(path))
    return os.path.join(folder, FOLDER, name)


@contextmanager
def share_file(path: StrPath, wait_s: float, *, at: StrPath = "") -> Iterator[None]:
    """Hold a file open together with others. The lock's name is that of the file, or `at`. If it
    cannot be made, as in a folder that is missing or read-only, there is none.

    Raises:
        StoreUnavailableError: a restore takes longer than `wait_s`.
    """
    deadline, name = time.monotonic() + wait_s, os.fspath(at or path)
    while _is_closed(f"{name}{_GATE}"):
        if time.monotonic() >= deadline:
            raise _say_restored(path)
        time.sleep(POLL_S)
    with ExitStack() as held:
        try:
            left_s = max(deadline - time.monotonic(), 0.0)
            lock = hold_lock(f"{name}{_LOCK}", left_s, is_shared=True)
            held.enter_context(lock)
        except BlockingIOError as error:
            raise _say_restored(path) from error
        except OSError:
            pass
        yield


@contextmanager
def own_file(path: StrPath, wait_s: float, *, at: StrPath = "") -> Iterator[None]:
    """Wait until nobody has a file open, and keep others from opening it inside the context. The
    lock is as in `share_file`.

    Raises:
        OSError: no lock can be made.
        StoreUnavailableError: others have it open for longer than `wait_s`.
    """
    name = os.fspath(at or path)
    gate = f"{name}{_GATE}"
    try:
        with ExitStack() as held:
            held.enter_context(hold_lock(gate, wait_s))
            held.callback(_unlink, gate)
            held.enter_context(hold_lock(f"{name}{_LOCK}", wait_s))
            yield
    except BlockingIOError as error:
        raise StoreUnavailableError(
            f"{path} is open in another process, so nothing was restored",
            "Wait for that process, or end it, and try again.",
        ) from error


def _unlink(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)


def _is_closed(gate: str) -> bool:
    try:
        return is_held(gate)
    except OSError:
        return False


def _say_restored(path: StrPath) -> StoreUnavailableError:
    return StoreUnavailableError(f"{path} is being restored", "Try again when the restore is done.")
