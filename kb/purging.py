"""Purging: the sources to forget, and returning their space to the file system."""

# ruff: noqa: S608 - only names and conditions fixed in this file are put into statements

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable
from pathlib import Path

from kb import words, writing
from kb.compression import indexed_text
from kb.model import Purged


def purge(db: sqlite3.Connection, chosen: list[int]) -> Purged:
    """Delete these sources, within the caller's transaction."""
    sizes = dict(db.execute("SELECT id, bytes_indexed FROM source"))
    chunks = 0
    spools: dict[Path, None] = {}
    for source_id in chosen:
        counted = "SELECT count(*) FROM chunk WHERE source_id = ?"
        chunks += db.execute(counted, (source_id,)).fetchone()[0]
        rows = db.execute("SELECT spool FROM pending WHERE source_id = ?", (source_id,))
        spools.update((Path(spool), None) for (spool,) in rows)
    text_bytes = sum(sizes.pop(source_id) for source_id in chosen)
    if chosen and sum(sizes.values()) <= text_bytes:
        _keep_only(db, list(sizes), chosen)
    else:
        _take_out(db, chosen)
    return Purged(len(chosen), chunks, text_bytes, tuple(spools))


def _take_out(db: sqlite3.Connection, chosen: Iterable[int]) -> None:
    """Remove sources one by one from the indexes."""
    vocabulary: set[str] = set()
    for source_id in chosen:
        vocabulary |= _vocabulary(db, source_id)
        writing.delete_source(db, source_id)
    writing.delete_words(db, vocabulary)


def _keep_only(db: sqlite3.Connection, kept: Iterable[int], chosen: Iterable[int]) -> None:
    """Do the same if most of the store goes: emptying the indexes and putting the rest back costs
    by the size of that; taking entries out costs by the size of what goes."""
    writing.empty_indexes(db)
    db.executemany("DELETE FROM source WHERE id = ?", ((source_id,) for source_id in chosen))
    vocabulary: set[str] = set()
    for source_id in kept:
        writing.index_whole(db, source_id)
        vocabulary |= _vocabulary(db, source_id)
    writing.insert_words(db, frozenset(vocabulary), set())


def _vocabulary(
    db: sqlite3.Connection, source_id: int, ids: tuple[int, int] = writing.ALL_CHUNKS
) -> set[str]:
    """Return the words of a source's chunks, from the first to the last of `ids`."""
    rows = db.execute(
        "SELECT body FROM chunk WHERE source_id = ? AND id BETWEEN ? AND ?", (source_id, *ids)
    )
    return set().union(*(words.vocabulary(indexed_text(body)) for (body,) in rows))


def choose(  # noqa: PLR0913 - the filters are the interface
    db: sqlite3.Connection,
    *,
    source: str | int | None,
    older_than_s: float | None,
    kind: str | None,
    session: str | None,
    superseded: bool,
    everything: bool,
    pinned: bool,
) -> list[int]:
    """Find the sources that fit every filter given, and those that have expired."""
    clauses: list[str] = []
    values: list[object] = []
    if isinstance(source, int):
        clauses.append("id = ?")
        values.append(source)
    elif source is not None:
        clauses.append("instr(label, ?) > 0")
        values.append(source)
    for column, value in (("kind", kind), ("session", session)):
        if value is not None:
            clauses.append(f"{column} = ?")
            values.append(value)
    if older_than_s is not None:
        clauses.append("indexed_at < ?")
        values.append(time.time() - older_than_s)
    if superseded:
        clauses.append("superseded_by IS NOT NULL")
    if everything:
        clauses.append("1")
    fits = " AND ".join(clauses) or "0"
    unpinned = "1" if pinned else "pinned = 0"
    rows = db.execute(
        f"SELECT id FROM source WHERE ({unpinned} AND {fits}) OR expires_at <= ?",
        (*writing.storable_values(values), time.time()),
    )
    return [source_id for (source_id,) in rows]


def forget_end(db: sqlite3.Connection, source_id: int, most_chunks: int, excess: int) -> Purged:
    """Forget up to `excess` queued bytes of a source, else all its queue and its last chunks. The
    source goes, too, if no more than `most_chunks` are left. Runs within the caller's transaction.
    The result counts the queued bytes, too, and the source once it is wholly gone. Until then it is
    an incomplete source like any other, but a file or page that must be read again."""
    if _shorten(db, source_id, excess):
        return Purged(0, 0, excess, ())
    queued, spools = _unqueue(db, source_id)
    rows = db.execute(
        "SELECT id FROM chunk WHERE source_id = ? ORDER BY id DESC LIMIT ?",
        (source_id, most_chunks + 1),
    ).fetchall()
    if len(rows) <= most_chunks:
        size = db.execute("SELECT bytes_indexed FROM source WHERE id = ?", (source_id,)).fetchone()
        _take_out(db, [source_id])
        return Purged(1, len(rows), size[0] + queued, spools)
    range_ = (rows[-2][0], rows[0][0])
    among = "FROM chunk WHERE source_id = ? AND id BETWEEN ? AND ?"
    (size,) = db.execute(f"SELECT sum(end_byte - start_byte) {among}", (source_id, *range_))
    gone = _vocabulary(db, source_id, range_)
    writing.unindex(db, source_id, range_)
    db.execute(f"DELETE {among}", (source_id, *range_))
    writing.delete_words(db, gone)
    db.execute("DELETE FROM page WHERE source_id = ?", (source_id,))
    db.execute(
        "UPDATE source SET bytes_indexed = bytes_indexed - ?, sha256 = NULL,"
        " mtime_ns = CASE WHEN mtime_ns IS NULL THEN NULL ELSE 0 END WHERE id = ?",
        (size[0], source_id),
    )
    return Purged(0, len(rows) - 1, size[0] + queued, spools)


def _shorten(db: sqlite3.Connection, source_id: int, excess: int) -> bool:
    """Cut `excess` bytes off the end of a source's queue if it has more; return whether it did."""
    done = db.execute(
        "UPDATE pending SET end_byte = end_byte - ? WHERE id ="
        " (SELECT id FROM pending WHERE source_id = ? AND end_byte - next_byte > ? LIMIT 1)",
        (excess, source_id, excess),
    )
    return done.rowcount > 0


def _unqueue(db: sqlite3.Connection, source_id: int) -> tuple[int, tuple[Path, ...]]:
    """Take a source out of the queue; return its number of queued bytes, and its spool files."""
    rows = db.execute(
        "SELECT spool, end_byte - next_byte FROM pending WHERE source_id = ?", (source_id,)
    ).fetchall()
    db.execute("DELETE FROM pending WHERE source_id = ?", (source_id,))
    return sum(size for _, size in rows), tuple(dict.fromkeys(Path(spool) for spool, _ in rows))


def compact(db: sqlite3.Connection) -> None:
    """Free space: merge what deletions left in the indexes, then rewrite the file.

    If other processes are using it, the space is reused later instead.
    """
    try:
        for table in ("chunk_fts", "history_fts", "word_fts"):
            db.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")
        db.execute("VACUUM")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise
