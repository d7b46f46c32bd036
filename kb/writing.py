"""The one write gate: how sources and chunks enter, supersede and leave the tables.

Every function runs inside a transaction that its caller began.
"""

# ruff: noqa: S608 - only names and conditions fixed in this file are put into statements

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kb import words
from kb.chunk import Chunk

_INDEXES = (("chunk_fts", "current_chunk"), ("history_fts", "superseded_chunk"))
_COLUMNS = "leaf, crumb, body, ident, label"


@dataclass(frozen=True, slots=True)
class NewSource:
    """What is known of a source before its first chunk is stored."""

    label: str
    kind: str
    language: str | None
    origin: str
    bytes_total: int
    session: str | None = None
    path: str | None = None
    mtime_ns: int | None = None
    inode: int | None = None
    file_size: int | None = None
    sha256: bytes | None = None
    converted: str | None = None
    ttl_s: float | None = None
    pinned: bool = False
    series: str | None = None


def insert_source(db: sqlite3.Connection, new: NewSource) -> tuple[int, int]:
    """A row for the next version of the label; the version before it is superseded, and so is
    whatever else belongs to the same series.

    Returns the id and the version, which counts from 1.
    """
    row = db.execute(
        "SELECT id, version FROM source WHERE label = ? ORDER BY version DESC LIMIT 1", (new.label,)
    ).fetchone()
    version = row[1] + 1 if row else 1
    now = time.time()
    cursor = db.execute(
        "INSERT INTO source (label, version, kind, language, origin, session, path, mtime_ns,"
        " inode, file_size, sha256, converted, bytes_total, bytes_indexed, indexed_at, expires_at,"
        " pinned, series) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?)",
        (
            new.label,
            version,
            new.kind,
            new.language,
            new.origin,
            new.session,
            new.path,
            new.mtime_ns,
            new.inode,
            new.file_size,
            new.sha256,
            new.converted,
            new.bytes_total,
            now,
            None if new.ttl_s is None else now + new.ttl_s,
            new.pinned,
            new.series,
        ),
    )
    source_id = cursor.lastrowid
    assert source_id is not None
    if row:
        supersede(db, row[0], source_id)
    if new.series is not None:
        older = db.execute(
            "SELECT id FROM source WHERE series = ? AND superseded_by IS NULL AND id < ?",
            (new.series, source_id),
        )
        for (older_id,) in older.fetchall():
            supersede(db, older_id, source_id)
    return source_id, version


def insert_chunks(db: sqlite3.Connection, source_id: int, chunks: Sequence[Chunk]) -> None:
    """Store the chunks, index them, add their words to the vocabulary and count their bytes."""
    if not chunks:
        return
    last_id = db.execute("SELECT coalesce(max(id), 0) FROM chunk").fetchone()[0]
    db.executemany(
        "INSERT INTO chunk (source_id, kind, language, start_byte, end_byte, start_line, end_line,"
        " leaf, crumb, body, ident, raw) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (_row(source_id, chunk) for chunk in chunks),
    )
    for table, view in _INDEXES:  # a source may have been superseded while some of it was queued
        db.execute(
            f"INSERT INTO {table} (rowid, {_COLUMNS})"
            f" SELECT id, {_COLUMNS} FROM {view} WHERE source_id = ? AND id > ?",
            (source_id, last_id),
        )
    db.execute(
        "UPDATE source SET bytes_indexed = bytes_indexed + ? WHERE id = ?",
        (sum(chunk.end_byte - chunk.start_byte for chunk in chunks), source_id),
    )
    insert_words(db, set().union(*(words.search_words(chunk).vocabulary for chunk in chunks)))


def count_redactions(db: sqlite3.Connection, source_id: int, count: int) -> None:
    """Add to how many secrets were taken out of a source."""
    if count:
        db.execute("UPDATE source SET redactions = redactions + ? WHERE id = ?", (count, source_id))


def insert_words(db: sqlite3.Connection, vocabulary: Iterable[str]) -> None:
    last_id = db.execute("SELECT coalesce(max(id), 0) FROM word").fetchone()[0]
    db.executemany(
        "INSERT OR IGNORE INTO word (text) VALUES (?)", ((word,) for word in sorted(vocabulary))
    )
    db.execute(
        "INSERT INTO word_fts (rowid, text) SELECT id, text FROM word WHERE id > ?", (last_id,)
    )


def _row(source_id: int, chunk: Chunk) -> tuple[object, ...]:
    return (
        source_id,
        chunk.kind,
        chunk.language,
        chunk.start_byte,
        chunk.end_byte,
        chunk.start_line,
        chunk.end_line,
        chunk.title[-1] if chunk.title else "",
        " > ".join(chunk.title[:-1]),
        chunk.text,
        words.search_words(chunk).terms,
        chunk.raw,
    )


def supersede(db: sqlite3.Connection, old_id: int, new_id: int) -> None:
    """Move the older version's chunks out of the index that search reads, into the history's."""
    unindex(db, old_id)
    db.execute("UPDATE source SET superseded_by = ? WHERE id = ?", (new_id, old_id))
    index_whole(db, old_id)


def index_whole(db: sqlite3.Connection, source_id: int) -> None:
    """Put all of a source's chunks into the full-text index that they belong to; the opposite of
    `unindex`."""
    for table, view in _INDEXES:
        db.execute(
            f"INSERT INTO {table} (rowid, {_COLUMNS})"
            f" SELECT id, {_COLUMNS} FROM {view} WHERE source_id = ?",
            (source_id,),
        )


def rebuild_indexes(db: sqlite3.Connection) -> None:
    """Make both full-text indexes and the vocabulary's anew from the text."""
    for table in ("chunk_fts", "history_fts", "word_fts"):
        db.execute(f"INSERT INTO {table} ({table}) VALUES ('rebuild')")


def unindex(db: sqlite3.Connection, source_id: int) -> None:
    """Take a source's chunks out of the full-text index that has them; the text stays."""
    for table, view in _INDEXES:
        db.execute(
            f"INSERT INTO {table} ({table}, rowid, {_COLUMNS})"
            f" SELECT 'delete', id, {_COLUMNS} FROM {view} WHERE source_id = ?",
            (source_id,),
        )


def delete_source(db: sqlite3.Connection, source_id: int) -> None:
    """Remove a source wholly; the version before it, if any, stays superseded."""
    unindex(db, source_id)
    db.execute("DELETE FROM source WHERE id = ?", (source_id,))
