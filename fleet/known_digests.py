"""Digests of files that were read before, kept in a file: what did not change is not read again."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from base.sqlite_files import SchemaError, connect, migrate
from policy.secrets.tokens import TOKEN_FORMS

SPARE = 2
"""Rows are removed when there are this many times as many as the project has files."""

# A number of an inode may have more bits than SQLite's have.
_UNUSABLE = (sqlite3.Error, SchemaError, OSError, OverflowError)


class FileState(NamedTuple):
    """What tells one content of a file from another, without reading it; times in ns."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int


class KnownFile(NamedTuple):
    """What reading a file showed: its sha256, and the kind of a token in it, or nothing."""

    hash: str
    token: str = ""


def state_of(info: os.stat_result) -> FileState:
    """The state by a file's record in the kernel."""
    return FileState(info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)


class KnownDigests:
    """What is known of one project's files by their states.

    It is a cache: a file that can't be read or written costs time, and nothing else.
    """

    def __init__(self, path: Path | None = None) -> None:
        """Read what `path` holds; without one nothing is kept beyond this object."""
        self._path = path
        self._known: dict[FileState, KnownFile] = {}
        self._new: dict[FileState, KnownFile] = {}
        if path is not None:
            with contextlib.suppress(*_UNUSABLE):
                self._load(path)

    def get(self, state: FileState) -> KnownFile | None:
        """What is known of a file in this state."""
        return self._known.get(state)

    def add(self, state: FileState, known: KnownFile) -> None:
        """Know this from now on."""
        self._known[state] = self._new[state] = known

    def save(self, met: Mapping[FileState, KnownFile]) -> None:
        """Keep what is new; when most of what is kept is of no file any more, only what was met."""
        is_full = len(self._known) > SPARE * len(met)
        if is_full:
            self._known = dict(met)
        if self._path is not None and (self._new or is_full):
            with contextlib.suppress(*_UNUSABLE):
                self._write(self._path, dict(met) if is_full else self._new, replace=is_full)
        self._new = {}

    def _load(self, path: Path) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.closing(connect(path)) as db:
            migrate(db, (_make,))
            rows = db.execute("SELECT * FROM files WHERE forms = ?", (_forms(),))
            self._known = {FileState(*row[:5]): KnownFile(row[5], row[6]) for row in rows}

    def _write(self, path: Path, rows: Mapping[FileState, KnownFile], *, replace: bool) -> None:
        forms = _forms()
        with contextlib.closing(connect(path)) as db:
            migrate(db, (_make,))
            db.execute("BEGIN IMMEDIATE")
            if replace:
                db.execute("DELETE FROM files")
            db.executemany(
                "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                ((*state, *known, forms) for state, known in rows.items()),
            )
            db.execute("COMMIT")


def _make(db: sqlite3.Connection) -> None:
    db.execute(
        "CREATE TABLE files (device INTEGER, inode INTEGER, size INTEGER, mtime_ns INTEGER,"
        " ctime_ns INTEGER, hash TEXT NOT NULL, token TEXT NOT NULL, forms TEXT NOT NULL,"
        " PRIMARY KEY (device, inode))"
    )


def _forms() -> str:
    """Which forms of tokens were looked for: a release that knows more looks again."""
    return hashlib.sha256(repr(TOKEN_FORMS).encode()).hexdigest()[:16]
