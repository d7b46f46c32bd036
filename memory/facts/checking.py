"""Checks of a file of facts: whether it is intact, and its live facts match the ledger."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

from base.stores import is_damage
from memory.facts.ledger import read_columns, replay
from memory.facts.model import MAIN
from memory.facts.schema import INDEX
from memory.facts.store import FactStore, LastSnapshot

# The newest change of each path of "main", if a fact remains there.
_REPLAY = """
SELECT c.path, c.fact_id, c.seq, c.pinned, c.scope, f.bytes, c.expires_at, w.agent, w.session, w.seq
FROM change c JOIN fact f ON f.id = c.fact_id
JOIN change w ON w.seq = (
    SELECT max(seq) FROM change WHERE fact_id = c.fact_id AND path = c.path AND seq <= c.seq
        AND operation NOT IN ('pin', 'unpin')
)
WHERE c.seq IN (SELECT max(seq) FROM change WHERE branch = 'main' GROUP BY path)
"""
_LIVE = """
SELECT path, fact_id, seq, pinned, scope, bytes, expires_at, agent, session, written FROM live
"""
_INDEXED = """
SELECT l.path, l.id, i.rowid IS NOT NULL, i.title, i.tags, i.path, i.body, i.parts, i.near
FROM live l LEFT JOIN live_fts i ON i.rowid = l.id
"""


def check_store(store: FactStore) -> tuple[str, ...]:
    """List the problems of a file."""
    if isinstance(store.database, LastSnapshot):
        return store.notices
    with store.database.reading() as db:
        return tuple(find_problems(db))


def repair_store(store: FactStore) -> tuple[str, ...]:
    """Rebuild the live facts from the ledger if they differ; return the remaining problems.

    Raises:
        StoreUnavailableError: the file is damaged.
        ReadOnlyError: the file can only be read.
    """
    with store.database.writing() as db:
        if any(find_problems(db)):
            rebuild(db)
        return tuple(find_problems(db))


def rebuild(db: sqlite3.Connection) -> None:
    """Rebuild the live facts and their index from the ledger."""
    db.execute("DROP TABLE live_fts")  # no row of a damaged index can be deleted
    db.execute(INDEX)
    replay(db)


def find_problems(db: sqlite3.Connection) -> Iterator[str]:
    """Yield the problems of a file."""
    yield from _check_words(db)
    for (line,) in db.execute("PRAGMA integrity_check"):
        if line != "ok":
            yield str(line)
    for row in db.execute("PRAGMA foreign_key_check"):
        yield f"{row[0]}: row {row[1]} refers to a missing row"
    replayed, live = _by_path(db, _REPLAY), _by_path(db, _LIVE)
    for path in sorted(replayed.keys() | live.keys()):
        if replayed.get(path) != live.get(path):
            yield f"{path}: {MAIN} has {live.get(path)}, the ledger {replayed.get(path)}"
    yield from _find_index_problems(db, len(live))
    sums = (sum(row[5] for row in replayed.values()), len(replayed))
    marks = dict(db.execute("SELECT name, value FROM mark"))
    if (marks.get("live_bytes"), marks.get("live_facts")) != sums:
        yield f"the sums are {marks}, the ledger has {sums[0]} bytes in {sums[1]} facts"


def _check_words(db: sqlite3.Connection) -> Iterator[str]:
    """Compare the index's words with its texts; SQLite allows this only in a writable file."""
    try:
        db.execute("INSERT INTO live_fts (live_fts) VALUES ('integrity-check')")
    except sqlite3.DatabaseError as error:
        if is_damage(error):
            yield "the index does not match its texts"
        elif error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_READONLY:
            raise


def _find_index_problems(db: sqlite3.Connection, live: int) -> Iterator[str]:
    try:
        for path, row, is_there, *columns in db.execute(_INDEXED).fetchall():
            if not is_there:
                yield f"{path}: missing from the index"
            elif tuple(columns) != read_columns(db, row):
                yield f"{path}: different text in the index"
        (indexed,) = db.execute("SELECT count(*) FROM live_fts").fetchone()
    except sqlite3.DatabaseError as error:  # some releases of SQLite find no row of an empty index
        if not is_damage(error):
            raise
        yield "cannot read the index"
        return
    if indexed > live:
        yield f"the index has {indexed} facts, but {live} are live"


def _by_path(db: sqlite3.Connection, query: str) -> dict[str, tuple[Any, ...]]:
    return {row[0]: row for row in db.execute(query)}
