"""The only writer: how sources and chunks enter, supersede and leave the tables.

Every function runs inside a transaction that its caller began.
"""

# ruff: noqa: S608 - only names and conditions fixed in this file are put into statements

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Sequence
from itertools import count

from kb.model import SourceSpec, StoredContent
from kb.packing import Chunk
from kb.words import with_name_parts

_INDEXES = (("chunk_fts", "current_chunk"), ("history_fts", "superseded_chunk"))
_COLUMNS = "leaf, crumb, body, ident, label"

ALL_CHUNKS = (0, 2**63 - 1)

MOVED_AT_ONCE_BYTES = 256 * 1024
"""Larger superseded versions move into the history's index later, not at once."""

STEP_CHUNKS = 128
"""The number of chunks moved, or forgotten, at a time: about a quarter of a megabyte."""

KNOWN_WORDS = 65_536
"""The number of words remembered as stored, some 6 MB; nine of ten words of a new source are among
them and need not be looked up."""


def insert_source(
    db: sqlite3.Connection, spec: SourceSpec, content: StoredContent
) -> tuple[int, int]:
    """Insert a row for the next version of the label; the version before it is superseded, and so
    is everything else in the same series.

    Returns the id and the version, which counts from 1.
    """
    label = storable_text(spec.label)
    row = db.execute(
        "SELECT id, version FROM source WHERE label = ? ORDER BY version DESC LIMIT 1", (label,)
    ).fetchone()
    version = row[1] + 1 if row else 1
    now = time.time()
    cursor = db.execute(
        "INSERT INTO source (label, version, kind, language, origin, session, path, mtime_ns,"
        " inode, file_size, sha256, converted, bytes_total, bytes_indexed, indexed_at, expires_at,"
        " pinned, series, met, author, said_at, split_names)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, 1)",
        (
            label,
            version,
            content.kind,
            content.language,
            spec.origin,
            storable_text(spec.session) if spec.session else None,
            spec.path,
            spec.mtime_ns,
            spec.inode,
            content.file_size,
            content.sha256,
            content.converted,
            content.bytes_total,
            now,
            None if spec.ttl_s is None else now + spec.ttl_s,
            spec.pinned,
            spec.series,
            spec.met,
            storable_text(spec.author) if spec.author else None,
            spec.said_at,
        ),
    )
    source_id = cursor.lastrowid
    assert source_id is not None
    if row:
        supersede(db, row[0], source_id)
    if spec.series is not None:
        older = db.execute(
            "SELECT id FROM source WHERE series = ? AND superseded_by IS NULL AND id < ?",
            (spec.series, source_id),
        )
        for (older_id,) in older.fetchall():
            supersede(db, older_id, source_id)
    return source_id, version


def storable_text(text: str) -> str:
    """Return `text` without lone surrogates, which no database stores."""
    return text.encode("utf-8", "replace").decode()


def storable_values(values: Iterable[object]) -> tuple[object, ...]:
    """Return the values for a statement, its texts as they are stored."""
    return tuple(storable_text(value) if isinstance(value, str) else value for value in values)


def insert_chunks(
    db: sqlite3.Connection, parts: Iterable[tuple[int, Sequence[Chunk], Sequence[str | bytes]]]
) -> None:
    """Store chunks, which have their search terms, and their texts as `compression.compress` has
    them, as parts of sources; index them and count their bytes."""
    ids = count(_next_chunk_id(db))
    rows: list[tuple[object, ...]] = []
    entries: dict[str, list[tuple[object, ...]]] = {table: [] for table, _ in _INDEXES}
    for source_id, chunks, bodies in parts:
        label, superseded, split = db.execute(
            "SELECT label, superseded_by IS NOT NULL AND unmoved_from IS NULL, split_names"
            " FROM source WHERE id = ?",
            (source_id,),
        ).fetchone()
        # It may have been superseded while some of it was queued. The chunks in memory go into the
        # index: reading them back through the view would restore every text.
        table, _ = _INDEXES[superseded]
        index = with_name_parts if split else str
        label = index(label)
        for chunk, body, at in zip(chunks, bodies, ids, strict=False):
            rows.append(_row(at, source_id, chunk, body))
            title = map(index, _title(chunk))
            entries[table].append((at, *title, chunk.text, chunk.search_terms, label))
        db.execute(
            "UPDATE source SET bytes_indexed = bytes_indexed + ? WHERE id = ?",
            (sum(chunk.end_byte - chunk.start_byte for chunk in chunks), source_id),
        )
    db.executemany(
        "INSERT INTO chunk (id, source_id, kind, language, start_byte, end_byte, start_line,"
        " end_line, leaf, crumb, body, ident) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        rows,
    )
    for table, _ in _INDEXES:
        db.executemany(
            f"INSERT INTO {table} (rowid, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)", entries[table]
        )


def count_redactions(db: sqlite3.Connection, source_id: int, count: int) -> None:
    """Add to how many secrets were taken out of a source."""
    if count:
        db.execute("UPDATE source SET redactions = redactions + ? WHERE id = ?", (count, source_id))


def _next_chunk_id(db: sqlite3.Connection) -> int:
    """Return an id that no chunk has or had."""
    row = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'chunk'").fetchone()
    return int(row[0]) + 1 if row else 1


def insert_words(db: sqlite3.Connection, vocabulary: frozenset[str], known: set[str]) -> None:
    """Add words to those that typing mistakes are corrected against; `known` has some of those,
    and is added to."""
    new = vocabulary - known
    if len(known) + len(new) > KNOWN_WORDS:
        known.clear()
    known |= new
    last_id = db.execute("SELECT coalesce(max(id), 0) FROM word").fetchone()[0]
    db.executemany(
        "INSERT OR IGNORE INTO word (text) VALUES (?)", ((word,) for word in sorted(new))
    )
    db.execute(
        "INSERT INTO word_fts (rowid, text) SELECT id, text FROM word WHERE id > ?", (last_id,)
    )


def delete_words(db: sqlite3.Connection, vocabulary: Iterable[str]) -> None:
    """Take out of the vocabulary those words that no chunk has any more."""
    for word in vocabulary:
        row = db.execute("SELECT id FROM word WHERE text = ?", (word,)).fetchone()
        if row is None or any(_occurs(db, table, word) for table, _ in _INDEXES):
            continue
        db.execute(
            "INSERT INTO word_fts (word_fts, rowid, text) VALUES ('delete', ?, ?)", (*row, word)
        )
        db.execute("DELETE FROM word WHERE id = ?", row)


def _occurs(db: sqlite3.Connection, table: str, word: str) -> bool:
    found = db.execute(f"SELECT 1 FROM {table} WHERE {table} MATCH ? LIMIT 1", (f'"{word}"',))
    return found.fetchone() is not None


def _row(chunk_id: int, source_id: int, chunk: Chunk, body: str | bytes) -> tuple[object, ...]:
    return (
        chunk_id,
        source_id,
        chunk.kind,
        chunk.language,
        chunk.start_byte,
        chunk.end_byte,
        chunk.start_line,
        chunk.end_line,
        *_title(chunk),
        body,
        chunk.search_terms,
    )


def _title(chunk: Chunk) -> tuple[str, str]:
    """Return the leaf title, and the crumb above it."""
    return (chunk.title[-1], " > ".join(chunk.title[:-1])) if chunk.title else ("", "")


def supersede(db: sqlite3.Connection, old_id: int, new_id: int) -> None:
    """Record that there is a later version: search skips the older one from now on. A small one's
    chunks move into the history's index at once, a large one's later, by `move_superseded`."""
    first = db.execute(
        "SELECT min(c.id) FROM chunk c JOIN source s ON s.id = c.source_id"
        " WHERE s.id = ? AND s.bytes_indexed > ?",
        (old_id, MOVED_AT_ONCE_BYTES),
    ).fetchone()[0]
    if first is not None:
        moved = "UPDATE source SET superseded_by = ?, unmoved_from = ? WHERE id = ?"
        db.execute(moved, (new_id, first, old_id))
        return
    unindex(db, old_id)
    db.execute("UPDATE source SET superseded_by = ? WHERE id = ?", (new_id, old_id))
    index_whole(db, old_id)


def move_superseded(db: sqlite3.Connection) -> bool:
    """Move some chunks of a large superseded version into the history's index; return False if none
    are left."""
    row = db.execute(
        "SELECT id, unmoved_from FROM source WHERE unmoved_from IS NOT NULL ORDER BY id LIMIT 1"
    ).fetchone()
    if row is None:
        return False
    source_id, first = row
    # By the index of sources: their chunks are not the only ones of their time.
    ids = db.execute("SELECT id FROM chunk WHERE source_id = ?", (source_id,)).fetchall()
    left = sorted(chunk_id for (chunk_id,) in ids if chunk_id >= first)
    if moved := left[:STEP_CHUNKS]:
        unindex(db, source_id, (moved[0], moved[-1]))
    after = left[STEP_CHUNKS] if len(left) > STEP_CHUNKS else None
    db.execute("UPDATE source SET unmoved_from = ? WHERE id = ?", (after, source_id))
    if moved:
        index_whole(db, source_id, (moved[0], moved[-1]))
    return True


def index_whole(db: sqlite3.Connection, source_id: int, ids: tuple[int, int] = ALL_CHUNKS) -> None:
    """Put a source's chunks, from the first to the last of `ids`, into their full-text index; the
    opposite of `unindex`."""
    for table, view in _INDEXES:
        db.execute(
            f"INSERT INTO {table} (rowid, {_COLUMNS})"
            f" SELECT id, {_COLUMNS} FROM {view} WHERE source_id = ? AND id BETWEEN ? AND ?",
            (source_id, *ids),
        )


def rebuild_indexes(db: sqlite3.Connection) -> None:
    """Rebuild both full-text indexes and the vocabulary's from the text."""
    db.execute("UPDATE source SET split_names = 1")
    for table in ("chunk_fts", "history_fts", "word_fts"):
        db.execute(f"INSERT INTO {table} ({table}) VALUES ('rebuild')")


def empty_indexes(db: sqlite3.Connection) -> None:
    """Take every chunk out of both full-text indexes, and every word out of the vocabulary."""
    for table in ("chunk_fts", "history_fts", "word_fts"):
        db.execute(f"INSERT INTO {table} ({table}) VALUES ('delete-all')")
    db.execute("DELETE FROM word")


def unindex(db: sqlite3.Connection, source_id: int, ids: tuple[int, int] = ALL_CHUNKS) -> None:
    """Take a source's chunks, from the first to the last of `ids`, out of the full-text index that
    has them; the text stays."""
    for table, view in _INDEXES:
        db.execute(
            f"INSERT INTO {table} ({table}, rowid, {_COLUMNS})"
            f" SELECT 'delete', id, {_COLUMNS} FROM {view}"
            " WHERE source_id = ? AND id BETWEEN ? AND ?",
            (source_id, *ids),
        )


def delete_source(db: sqlite3.Connection, source_id: int) -> None:
    """Remove a source wholly; the version before it, if any, stays superseded."""
    unindex(db, source_id)
    db.execute("DELETE FROM source WHERE id = ?", (source_id,))
