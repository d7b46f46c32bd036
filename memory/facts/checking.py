"""Whether a file of facts is sound, and what is live on "main" is what its ledger says."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from typing import Any

from memory.facts.ledger import follow
from memory.facts.model import MAIN
from memory.facts.store import FactStore

# The newest change of each path of "main", where it left something standing.
_REPLAY = """
SELECT c.path, c.fact_id, c.seq, c.pinned, c.scope, f.bytes, c.expires_at
FROM change c JOIN fact f ON f.id = c.fact_id
WHERE c.seq IN (SELECT max(seq) FROM change WHERE branch = 'main' GROUP BY path)
"""
_LIVE = "SELECT path, fact_id, seq, pinned, scope, bytes, expires_at FROM live"
_INDEXED = """
SELECT l.path, i.rowid IS NOT NULL, i.title IS f.title AND i.body IS f.body AND i.path IS l.path,
    i.tags, f.tags
FROM live l JOIN fact f ON f.id = l.fact_id LEFT JOIN live_fts i ON i.rowid = l.id
"""


def check_store(store: FactStore) -> tuple[str, ...]:
    """List what is wrong; nothing where all is well."""
    with store.database.reading() as db:
        return tuple(find_problems(db))


def repair_live(store: FactStore) -> tuple[str, ...]:
    """Make what is live anew from the ledger where it differs; return what was wrong."""
    with store.database.writing() as db:
        problems = tuple(find_problems(db))
        if problems:
            db.execute("DELETE FROM live")
            db.execute("DELETE FROM live_fts")
            db.execute("UPDATE mark SET value = 0 WHERE name IN ('live_bytes', 'live_facts')")
            for path, row, seq, pinned, scope, _, expires_at in db.execute(_REPLAY).fetchall():
                follow(db, path, row, seq, pinned=pinned, scope=scope, expires_at=expires_at)
    return problems


def find_problems(db: sqlite3.Connection) -> Iterator[str]:
    """Yield what is wrong with a file."""
    for (line,) in db.execute("PRAGMA integrity_check"):
        if line != "ok":
            yield str(line)
    for row in db.execute("PRAGMA foreign_key_check"):
        yield f"{row[0]}: row {row[1]} refers to something that is gone"
    replayed, live = _by_path(db, _REPLAY), _by_path(db, _LIVE)
    for path in sorted(replayed.keys() | live.keys()):
        if replayed.get(path) != live.get(path):
            yield f"{path}: {MAIN} has {live.get(path)}, and the ledger says {replayed.get(path)}"
    yield from _find_index_problems(db, len(live))
    sums = (sum(row[5] for row in replayed.values()), len(replayed))
    marks = dict(db.execute("SELECT name, value FROM mark"))
    if (marks.get("live_bytes"), marks.get("live_facts")) != sums:
        yield f"the sums say {marks}, and the ledger {sums[0]} bytes of {sums[1]} facts"


def _find_index_problems(db: sqlite3.Connection, live: int) -> Iterator[str]:
    for path, is_there, is_same, words, tags in db.execute(_INDEXED):
        if not is_there:
            yield f"{path}: the index lacks it"
        elif not is_same or words != " ".join(json.loads(tags)):
            yield f"{path}: the index has another text"
    (indexed,) = db.execute("SELECT count(*) FROM live_fts").fetchone()
    if indexed > live:
        yield f"the index has {indexed} facts, and {live} are live"


def _by_path(db: sqlite3.Connection, query: str) -> dict[str, tuple[Any, ...]]:
    return {row[0]: row for row in db.execute(query)}
