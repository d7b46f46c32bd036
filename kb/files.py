"""Sources that are files: whether the kept version is still what stands on the disk."""

# ruff: noqa: S608 - only names and conditions fixed in this file are put into statements

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from kb import writing

CHANGED, GONE, UNREADABLE = "changed", "gone", "unreadable"
"""States that a file may have since it was indexed."""


@dataclass(frozen=True, slots=True)
class FileState:
    """A file as it was indexed."""

    source_id: int
    path: str
    mtime_ns: int
    size: int  # on the disk
    inode: int
    sha256: bytes
    met: bool
    """In a folder, rather than named by itself."""

    def is_unchanged(self, status: os.stat_result) -> bool:
        """Whether the file's status is the one that was indexed."""
        now = (status.st_mtime_ns, status.st_size, status.st_ino)
        return now == (self.mtime_ns, self.size, self.inode)

    def find_stale(self) -> str:
        """Compare the file on the disk with the indexed one: empty, CHANGED, GONE or UNREADABLE."""
        try:
            return "" if self.is_unchanged(os.stat(self.path)) else CHANGED
        except (FileNotFoundError, NotADirectoryError):
            return GONE
        except OSError:
            return UNREADABLE


_STATE = (
    "SELECT id, path, mtime_ns, file_size, inode, sha256, met FROM source"
    " WHERE superseded_by IS NULL AND inode IS NOT NULL AND "
)


def below(db: sqlite3.Connection, root: Path) -> dict[str, FileState]:
    """Every file at or below a path that is indexed, by its path."""
    prefix = str(root).rstrip("/")
    rows = db.execute(
        f"{_STATE} (path = ? OR path >= ? AND path < ?)", (prefix, f"{prefix}/", f"{prefix}0")
    )
    return {row[1]: FileState(*row) for row in rows}


def of_sources(db: sqlite3.Connection, source_ids: Collection[int]) -> dict[int, FileState]:
    """Find the files of those sources that are the current version of one, by the source's id."""
    ids = json.dumps(list(source_ids))
    rows = db.execute(f"{_STATE} id IN (SELECT value FROM json_each(?))", (ids,))
    return {row[0]: FileState(*row) for row in rows}


def find_moved(db: sqlite3.Connection, sha256: bytes, size: int) -> FileState | None:
    """A file with this content that is no longer where it was indexed."""
    rows = db.execute(f"{_STATE} sha256 = ? AND file_size = ?", (sha256, size))
    states = (FileState(*row) for row in rows)
    return next((state for state in states if not os.path.lexists(state.path)), None)


def touch(db: sqlite3.Connection, source_id: int, mtime_ns: int, inode: int) -> None:
    """Note a new status of a file whose content is still the indexed one."""
    db.execute(
        "UPDATE source SET mtime_ns = ?, inode = ? WHERE id = ?", (mtime_ns, inode, source_id)
    )


def rename(
    db: sqlite3.Connection, source_id: int, label: str, path: str, status: os.stat_result
) -> None:
    """The source goes by another label and path from here on; its chunks stay as they are."""
    row = db.execute("SELECT max(version) FROM source WHERE label = ?", (label,)).fetchone()
    writing.unindex(db, source_id)
    db.execute(
        "UPDATE source SET label = ?, version = ?, path = ?, mtime_ns = ?, inode = ? WHERE id = ?",
        (label, (row[0] or 0) + 1, path, status.st_mtime_ns, status.st_ino, source_id),
    )
    writing.index_whole(db, source_id)


def label(db: sqlite3.Connection, path: str, wanted: str) -> str:
    """The label of the file at `path`: `wanted`, unless another file has it; then the path."""
    row = db.execute(
        "SELECT 1 FROM source WHERE label = ? AND path IS NOT ? AND superseded_by IS NULL",
        (wanted, path),
    ).fetchone()
    return path if row else wanted
