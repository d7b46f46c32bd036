"""A SQLite database that its host goes on writing, read without being in its way.

Each statement is a short transaction of its own. Nothing is written: a log that the host left empty
is not opened, so that no file appears beside the database.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from base.plain_files import open_plain

WAIT_S = 0.2
STATEMENT_S = 5.0
"""A database may be made so that a statement has no end."""

VALUE_BYTES_MAX = 64 << 20
_STEPS = 100_000
_HEADER_BYTES = 20
_IS_LOGGED = b"\x02\x02"  # the header's two versions, of a database with a write-ahead log


class HostDatabase:
    """One open database. What is no UTF-8 in it is replaced."""

    def __init__(self, path: str) -> None:
        """Open it.

        Raises:
            OSError: it can't be read, or is a link.
            ValueError: it is no database, or what is beside it is no plain file.
            sqlite3.Error: it can't be opened.
        """
        self._path = path
        self._ends_at = 0.0
        self._open()

    def _open(self) -> None:
        for beside in ("-wal", "-shm", "-journal"):
            _refuse_unless_plain(self._path + beside)
        with open_plain(self._path, follow=False) as file:
            header = file.read(_HEADER_BYTES)
        if not header.startswith(b"SQLite format 3\0"):
            raise ValueError("no database")
        # Without a log nobody writes it, and no file has to be made for that to be known.
        self._is_quiet = header.endswith(_IS_LOGGED) and not self._is_logged()
        how = "mode=ro&immutable=1" if self._is_quiet else "mode=ro"
        self._db = sqlite3.connect(
            f"file:{quote(self._path)}?{how}", uri=True, timeout=WAIT_S, isolation_level=None
        )
        self._db.text_factory = _decode
        self._db.set_progress_handler(self._is_late, _STEPS)
        self._db.execute("PRAGMA trusted_schema = OFF")

    def _is_logged(self) -> bool:
        try:
            return os.lstat(self._path + "-wal").st_size > 0
        except OSError:
            return False

    def _is_late(self) -> bool:
        return time.monotonic() > self._ends_at

    def require(self, tables: Mapping[str, Sequence[str]]) -> None:
        """Check that there are tables, each with some columns.

        Raises:
            ValueError: one is missing, or is a view.
        """
        for table, columns in tables.items():
            kinds = self.rows("SELECT type FROM sqlite_master WHERE name = ?", table)
            found = {row[0] for row in self.rows("SELECT name FROM pragma_table_info(?)", table)}
            if kinds != [("table",)] or not found.issuperset(columns):
                raise ValueError(f"no table {table} of the known form")

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Return all rows of a statement.

        Raises:
            sqlite3.Error: it is locked, damaged, or takes too long.
        """
        if self._is_quiet and self._is_logged():
            self.close()
            self._open()
        self._ends_at = time.monotonic() + STATEMENT_S
        return self._db.execute(statement, values).fetchall()

    def close(self) -> None:
        """Close it; safe to call twice."""
        self._db.close()


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _refuse_unless_plain(path: str) -> None:
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode):
        raise ValueError("no plain file is beside it")
