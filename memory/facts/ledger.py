"""The one place that adds to the ledger, and keeps what is live on the branch "main" beside it."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from kb.words import index_terms
from memory.facts.model import MAIN, Author, Category, Operation, Scope
from memory.texts import size_bytes


@dataclass(frozen=True, slots=True)
class Entry:
    """A row that is to be added. `fact_id` is the row of the fact that stands at the path from now
    on; None where nothing does."""

    branch: str
    path: str
    fact_id: int | None
    operation: Operation
    at: float
    author: Author
    scope: Scope
    category: Category = "observe"
    why: str = ""
    confidence: float = 0.7
    source: str = ""
    expires_at: float | None = None
    supersedes: int | None = None
    is_pinned: bool = False


def add_fact(db: sqlite3.Connection, title: str, body: str, tags: Iterable[str]) -> int:
    """Add the text of a fact and return its row."""
    row = (title, body, json.dumps(list(tags), ensure_ascii=False), size_bytes(title + body))
    found = db.execute(
        "INSERT INTO fact (uid, title, body, tags, bytes, sha256) VALUES (?, ?, ?, ?, ?, ?)"
        " RETURNING id",
        (_make_uid(db), *row, digest_text(title, body)),
    )
    return int(found.fetchone()[0])


def digest_text(title: str, body: str) -> bytes:
    """Return the digest by which the same text is known again."""
    return hashlib.sha256(f"{title}\n{body}".encode("utf-8", "surrogatepass")).digest()


def append(db: sqlite3.Connection, entry: Entry) -> int:
    """Add a row to the ledger and return its number; what is live on "main" follows."""
    found = db.execute(
        "INSERT INTO change (branch, path, fact_id, operation, at, agent, session, category, why,"
        " confidence, source, expires_at, supersedes, pinned, scope)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING seq",
        (
            *(entry.branch, entry.path, entry.fact_id, entry.operation, entry.at),
            *(entry.author.agent, entry.author.session, entry.category, entry.why),
            *(entry.confidence, entry.source, entry.expires_at, entry.supersedes),
            *(int(entry.is_pinned), entry.scope),
        ),
    )
    seq = int(found.fetchone()[0])
    if entry.branch == MAIN:
        follow(
            db,
            entry.path,
            entry.fact_id,
            seq,
            pinned=entry.is_pinned,
            scope=entry.scope,
            expires_at=entry.expires_at,
        )
    return seq


def follow(  # noqa: PLR0913 - a row of `live`
    db: sqlite3.Connection,
    path: str,
    fact_id: int | None,
    seq: int,
    *,
    pinned: bool,
    scope: Scope,
    expires_at: float | None,
) -> None:
    """Put what the ledger says of a path into `live`, its index and its sums."""
    old = db.execute("SELECT id, bytes FROM live WHERE path = ?", (path,)).fetchone()
    if old:
        db.execute("DELETE FROM live WHERE id = ?", (old[0],))
        db.execute("DELETE FROM live_fts WHERE rowid = ?", (old[0],))
        _add_to_marks(db, -old[1], -1)
    if fact_id is None:
        return
    title, body, tags, size = db.execute(
        "SELECT title, body, tags, bytes FROM fact WHERE id = ?", (fact_id,)
    ).fetchone()
    db.execute(
        "INSERT INTO live (id, path, fact_id, seq, pinned, scope, bytes, expires_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (seq, path, fact_id, seq, int(pinned), scope, size, expires_at),
    )
    index_text(db, seq, path, title, body, tags=json.loads(tags))
    _add_to_marks(db, size, 1)


def index_text(  # noqa: PLR0913 - a row of the index
    db: sqlite3.Connection, seq: int, path: str, title: str, body: str, *, tags: Iterable[str]
) -> None:
    """Add a fact to the index."""
    words = " ".join(tags)
    db.execute(
        "INSERT INTO live_fts (rowid, title, tags, path, body, parts, near)"
        " VALUES (?, ?, ?, ?, ?, ?, '')",
        (seq, title, words, path, body, index_terms(f"{title}\n{body}\n{words}")),
    )


def _add_to_marks(db: sqlite3.Connection, size: int, count: int) -> None:
    db.execute("UPDATE mark SET value = value + ? WHERE name = 'live_bytes'", (size,))
    db.execute("UPDATE mark SET value = value + ? WHERE name = 'live_facts'", (count,))


def _make_uid(db: sqlite3.Connection) -> str:
    """Return an id that no fact has yet: of a million, two random ones are often the same."""
    while True:
        uid = _draw_uid()
        if db.execute("SELECT 1 FROM fact WHERE uid = ?", (uid,)).fetchone() is None:
            return uid


def _draw_uid() -> str:
    return "mem-" + base64.b32encode(os.urandom(5)).decode().lower()
