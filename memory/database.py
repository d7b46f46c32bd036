"""Opening a file of what is remembered: its settings, its schema.

There is no lock file: writers wait for each other in SQLite, each for as long as it may.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from base import sqlite_files
from base.sqlite_files import NO_SETTINGS, SchemaError, Step, migrate, require_current
from memory.errors import ReadOnlyError, StoreUnavailableError

TYPE_CHECKING = False
if TYPE_CHECKING:  # a hook's start imports this module, and none of these
    from base.plain_files import StrPath

WAIT_S = 30.0
"""How long one waits for other writers, never on an event loop; hooks have less."""

_SETTINGS: Mapping[str, str | int] = {
    "auto_vacuum": "INCREMENTAL",
    "foreign_keys": "ON",
    "secure_delete": "ON",  # what is forgotten leaves no byte in the file
    "cache_size": -8192,  # 8 MiB
}
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_RETRY_S = 0.01


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
        """Open the file, made and migrated by `steps` where needed. With `read_only` nothing of
        that is done. `holds` says in a word what is in it, such as "sessions".

        Raises:
            StoreUnavailableError: it is missing and not to be made, damaged, or cannot be opened.
        """
        self.path = path
        self._steps = steps
        self._settings = {**_SETTINGS, **settings}
        self.notices: tuple[str, ...] = ()
        self.is_read_only = read_only or (os.path.exists(path) and not _is_writable(path))
        if (read_only or not create) and not os.path.exists(path):
            raise StoreUnavailableError(f"{path}: no {holds} are kept yet")
        with _translated(path):
            if read_only:
                self._db = self._connect_to_read(wait_s)
                return
            if self.is_read_only:
                self._db = sqlite_files.connect_read_only(path, wait_s=wait_s)
                self.notices = (f"{path} is read-only: {holds} are shown, none is recorded",)
                return
            try:
                os.makedirs(os.path.dirname(path) or ".", mode=0o700, exist_ok=True)
                # Before SQLite makes it, and its log with the same rights: nobody else reads them.
                # One that is there is not opened: closing it would end the locks that another
                # connection of this process has on it.
                flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
                os.close(os.open(path, flags, 0o600))
            except FileExistsError:
                pass
            except OSError as error:
                where = error.filename or path
                raise StoreUnavailableError(f"{where}: {error.strerror}") from error
            self._db = self._connect(wait_s)

    def close(self) -> None:
        """Close the file; safe to call twice."""
        self._db.close()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Give one consistent view of the file."""
        with _translated(self.path):
            self._db.execute("BEGIN")
            try:
                yield self._db
            finally:
                self._db.execute("ROLLBACK")

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Give one transaction, done wholly or not at all.

        Raises:
            ReadOnlyError: the file can only be read.
        """
        with self.exclusively() as db:
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise

    @contextmanager
    def exclusively(self) -> Iterator[sqlite3.Connection]:
        """Give the connection outside of a transaction, for what cannot run within one."""
        if self.is_read_only:
            raise ReadOnlyError(f"{self.path} is read-only", "Make it writable.")
        with _translated(self.path):
            yield self._db

    def _connect_to_read(self, wait_s: float) -> sqlite3.Connection:
        db = sqlite_files.connect_read_only(self.path, wait_s=wait_s)
        try:
            require_current(db, self._steps)
        except BaseException:
            db.close()
            raise
        return db

    def _connect(self, wait_s: float) -> sqlite3.Connection:
        """Open and migrate. Two that make the file at once may find it locked while one of them
        turns on its log, for which SQLite does not wait."""
        deadline = time.monotonic() + wait_s
        while True:
            try:
                db = sqlite_files.connect(self.path, wait_s=wait_s, settings=self._settings)
                try:
                    migrate(db, self._steps)
                except BaseException:
                    db.close()
                    raise
                with suppress(OSError):  # it is another user's
                    os.chmod(self.path, 0o600)
                return db
            except sqlite3.OperationalError as error:
                is_busy = error.sqlite_errorcode & 0xFF in _BUSY
                if not is_busy or time.monotonic() >= deadline:
                    raise
            time.sleep(_RETRY_S)


def _is_writable(path: StrPath) -> bool:
    return os.access(path, os.W_OK) and os.access(os.path.dirname(path) or ".", os.W_OK)


def is_damaged(error: sqlite3.DatabaseError) -> bool:
    """Tell whether an error says that the file is no database, or a broken one."""
    return error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)


@contextmanager
def _translated(path: StrPath) -> Iterator[None]:
    try:
        yield
    except SchemaError as error:
        raise StoreUnavailableError(f"{path}: {error}") from error
    except sqlite3.Error as error:
        raise StoreUnavailableError(f"{path}: {error}") from error
