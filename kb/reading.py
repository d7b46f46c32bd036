"""Contents of a store: sources, their text, counts, and whether the file is intact."""

# ruff: noqa: S608 - only names and conditions fixed in this file are put into statements

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kb.compression import restore
from kb.model import Source, UnknownSourceError

if TYPE_CHECKING:
    from kb.store import Store
import json
import os
from collections.abc import Collection

from kb import writing

CHANGED, GONE, UNREADABLE = "changed", "gone", "unreadable"
"""States of a file since it was indexed."""


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
        """Return whether the file's status is the one that was indexed."""
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
    """Return every indexed file at or below a path, by its path."""
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
    """Find a file with this content that is no longer where it was indexed."""
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
    """Give the source another label and path; its chunks stay as they are."""
    row = db.execute("SELECT max(version) FROM source WHERE label = ?", (label,)).fetchone()
    writing.unindex(db, source_id)
    db.execute(
        "UPDATE source SET label = ?, version = ?, path = ?, mtime_ns = ?, inode = ? WHERE id = ?",
        (label, (row[0] or 0) + 1, path, status.st_mtime_ns, status.st_ino, source_id),
    )
    writing.index_whole(db, source_id)


def label(db: sqlite3.Connection, path: str, wanted: str) -> str:
    """Return the label of the file at `path`: `wanted`, or the path if another file has it."""
    row = db.execute(
        "SELECT 1 FROM source WHERE label = ? AND path IS NOT ? AND superseded_by IS NULL",
        (wanted, path),
    ).fetchone()
    return path if row else wanted


@dataclass(frozen=True, slots=True)
class Section:
    """Neighbouring chunks under one title, and the lines from its first to its last."""

    title: str
    start_line: int
    end_line: int
    bytes: int


def contents(store: Store, source_id: int) -> list[Section]:
    """Return the sections of a source in order, up to where it is indexed."""
    with store.access.reading() as db:
        rows = db.execute(
            "SELECT crumb, leaf, start_line, end_line, end_byte - start_byte FROM chunk"
            " WHERE source_id = ? ORDER BY start_byte",
            (source_id,),
        ).fetchall()
    sections: list[Section] = []
    for crumb, leaf, first, last, size in rows:
        title = f"{crumb} > {leaf}" if crumb else leaf
        if sections and sections[-1].title == title:
            before = sections.pop()
            first, size = before.start_line, before.bytes + size  # noqa: PLW2901
        sections.append(Section(title, first, last, size))
    return sections


_SOURCE = (
    "SELECT s.id, s.label, s.version, s.kind, s.language, s.origin, s.session, s.path,"
    " (SELECT count(*) FROM chunk c WHERE c.source_id = s.id), s.bytes_indexed, s.bytes_total,"
    " s.indexed_at, s.expires_at, s.pinned, s.superseded_by, s.converted, s.redactions"
    " FROM source s"
)


def sources(db: sqlite3.Connection, *, include_superseded: bool) -> list[Source]:
    where = "" if include_superseded else "WHERE s.superseded_by IS NULL"
    return [_source(row) for row in db.execute(f"{_SOURCE} {where} ORDER BY s.id DESC")]


def list_sources(db: sqlite3.Connection, offset: int, limit: int) -> list[Source]:
    """Read a part of the list of current sources, the latest first."""
    where = "WHERE s.superseded_by IS NULL ORDER BY s.id DESC LIMIT ? OFFSET ?"
    return [_source(row) for row in db.execute(f"{_SOURCE} {where}", (limit, offset))]


def count_sources(db: sqlite3.Connection) -> int:
    """Count the current sources."""
    query = "SELECT COUNT(*) FROM source WHERE superseded_by IS NULL"
    return int(db.execute(query).fetchone()[0])


def versions(db: sqlite3.Connection, label: str) -> list[int]:
    return [row[0] for row in db.execute("SELECT id FROM source WHERE label = ?", (label,))]


def source(db: sqlite3.Connection, source_id: int) -> Source:
    row = db.execute(f"{_SOURCE} WHERE s.id = ?", (source_id,)).fetchone()
    if row is None:
        raise UnknownSourceError(f"no source {source_id}: list the sources to see all")
    return _source(row)


def _source(row: tuple[Any, ...]) -> Source:
    source = Source(*row)
    return replace(source, pinned=bool(source.pinned))


def count_bytes_left(db: sqlite3.Connection, source_id: int | None) -> int:
    """Count the bytes that are still to be indexed, of one source or of all."""
    where, values = (
        ("id IN (SELECT source_id FROM pending)", ())
        if source_id is None
        else ("id = ?", (source_id,))
    )
    (left,) = db.execute(
        f"SELECT coalesce(sum(bytes_total - bytes_indexed), 0) FROM source WHERE {where}", values
    ).fetchone()
    return max(0, int(left))


def any_unmoved(db: sqlite3.Connection) -> bool:
    """Return whether a superseded version is still in the index of current ones."""
    row = db.execute("SELECT 1 FROM source WHERE unmoved_from IS NOT NULL LIMIT 1").fetchone()
    return row is not None


def text(db: sqlite3.Connection, source_id: int, start: int, end: int | None) -> bytes:
    """Return the bytes of the chunks that overlap [start, end), cut to it, in order."""
    limit = source(db, source_id).bytes_total if end is None else end
    pieces = []
    for first, last, body, raw in db.execute(
        "SELECT start_byte, end_byte, body, raw FROM chunk"
        " WHERE source_id = ? AND start_byte < ? AND end_byte > ? ORDER BY start_byte",
        (source_id, limit, start),
    ):
        data = restore(body) if raw is None else raw  # which earlier releases stored separately
        if start > first or limit < last:  # else whole: with secrets taken out its size differs
            data = data[max(0, start - first) : min(last, limit) - first]
        pieces.append(data)
    return b"".join(pieces)


def stats(db: sqlite3.Connection, path: Path) -> dict[str, int]:
    total, superseded = db.execute("SELECT count(*), count(superseded_by) FROM source").fetchone()
    chunks, text_bytes = db.execute(
        "SELECT count(*), coalesce(sum(end_byte - start_byte), 0) FROM chunk"
    ).fetchone()
    queued = db.execute("SELECT coalesce(sum(end_byte - next_byte), 0) FROM pending").fetchone()[0]
    files = [path, path.with_name(path.name + "-wal")]
    size = sum(file.stat().st_size for file in files if file.exists())
    return {
        "sources": total,
        "superseded": superseded,
        "chunks": chunks,
        "text_bytes": text_bytes,
        "file_bytes": size,
        "pending_bytes": queued,
    }


def check(db: sqlite3.Connection, *, index: bool) -> tuple[str, ...]:
    """List problems of the file, of references between tables, and of the indexes (which need a
    connection that may write)."""
    problems = [row[0] for row in db.execute("PRAGMA integrity_check(20)") if row[0] != "ok"]
    for table, rowid, parent, _ in db.execute("PRAGMA foreign_key_check"):
        problems.append(f"row {rowid} of {table} refers to a missing row of {parent}")
    if index:
        for name in ("chunk_fts", "history_fts", "word_fts"):
            try:
                db.execute(f"INSERT INTO {name} ({name}, rank) VALUES ('integrity-check', 1)")
            except sqlite3.DatabaseError as error:
                problems.append(f"{name}: {error}")
    return tuple(problems)
