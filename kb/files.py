"""Sources that are files: whether the kept version is still what stands on the disk."""

from __future__ import annotations

import hashlib
import sqlite3
from pathlib import Path

_CURRENT = "SELECT id FROM source WHERE path = ? AND superseded_by IS NULL"


def is_current(db: sqlite3.Connection, path: str, mtime_ns: int, size: int, inode: int) -> bool:
    """Whether the file's status is the one that was indexed."""
    row = db.execute(
        f"{_CURRENT} AND mtime_ns = ? AND file_size = ? AND inode = ?",
        (path, mtime_ns, size, inode),
    ).fetchone()
    return row is not None


def touch(db: sqlite3.Connection, path: str, data: bytes, mtime_ns: int, inode: int) -> bool:
    """Note a new status where the content is still the indexed one; whether it was."""
    cursor = db.execute(
        "UPDATE source SET mtime_ns = ?, inode = ?"
        " WHERE path = ? AND superseded_by IS NULL AND sha256 = ?",
        (mtime_ns, inode, path, hashlib.sha256(data).digest()),
    )
    return cursor.rowcount > 0


def label(db: sqlite3.Connection, path: str, wanted: str) -> str:
    """The label of the file at `path`: `wanted`, unless another file has it; then the path."""
    row = db.execute(
        "SELECT 1 FROM source WHERE label = ? AND path IS NOT ? AND superseded_by IS NULL",
        (wanted, path),
    ).fetchone()
    return path if row else wanted


def below(db: sqlite3.Connection, root: Path) -> list[tuple[int, str]]:
    """Id and path of every current file source below a folder."""
    prefix = str(root).rstrip("/") + "/"
    rows = db.execute(
        "SELECT id, path FROM source WHERE path >= ? AND path < ? AND superseded_by IS NULL",
        (prefix, prefix[:-1] + "0"),
    )
    return rows.fetchall()
