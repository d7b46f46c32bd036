"""The ledger: adds changes, and updates the live facts of "main" and their index.

The index has each fact's own words, the day it was written, and the words of its neighbours. These
are the two facts before and the two after it by the same agent in the same session: an answer is
often next to the words of its question.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict

from kb.words import index_terms
from memory.facts.model import MAIN, Change, Scope
from memory.texts import size_bytes

EACH_SIDE = 2
NEAR_CHARS_MAX = 1000
"""Limit on a neighbour's text in the index: long facts would outweigh the fact's own text."""

_SIDE = """
SELECT id FROM live WHERE agent = ? AND session = ? AND session != '' AND written {} ?
ORDER BY written {} LIMIT ?
"""
_TEXT = """
SELECT l.path, f.title, f.body, f.tags, w.at FROM live l JOIN fact f ON f.id = l.fact_id
JOIN change w ON w.seq = l.written WHERE l.id = ?
"""


Columns = tuple[str, str, str, str, str, str]
"""Index columns of a fact: title, tags, path, body, parts of its words, neighbours' words."""

_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
"""English month names, whatever the machine's language."""

# The newest change of each path of "main", if a fact remains there.
_STANDING = """
SELECT path, fact_id, seq, pinned, scope, expires_at FROM change
WHERE fact_id IS NOT NULL
    AND seq IN (SELECT max(seq) FROM change WHERE branch = 'main' GROUP BY path)
"""

_APPEND = """
INSERT INTO change (branch, path, fact_id, operation, at, agent, session, category, why, confidence,
    source, expires_at, supersedes, pinned, scope)
VALUES (:branch, :path, (SELECT id FROM fact WHERE uid = :fact_id), :operation, :at, :agent,
    :session, :category, :why, :confidence, :source, :expires_at,
    (SELECT id FROM fact WHERE uid = :supersedes), :is_pinned, :scope)
RETURNING seq, fact_id
"""


def make_columns(  # noqa: PLR0913, PLR0917 - what a fact is found by
    path: str, title: str, body: str, tags: Iterable[str], at: float, near: Sequence[str]
) -> Columns:
    """Build the index columns of a fact that was written at a time, with its neighbours."""
    words = " ".join(tags)
    own = index_terms("\n".join((title, body, words)))
    parts = f"{own} {date_words(at)}"
    return title, words, path, body, parts, join_near(near)


def date_words(at: float) -> str:
    """Return the words of a day, such as "8 May 2023"; empty for a time outside the calendar."""
    try:
        day = time.gmtime(at)
    except (OverflowError, ValueError, OSError):
        return ""
    return f"{day.tm_mday} {_MONTHS[day.tm_mon - 1]} {day.tm_year}"


def join_near(texts: Sequence[str]) -> str:
    """Return the words of neighbours, in their order."""
    text = "\n".join(one[:NEAR_CHARS_MAX] for one in texts)
    return f"{text} {index_terms(text)}".strip()


def add_columns(db: sqlite3.Connection, row: int, columns: Columns) -> None:
    """Add a fact to an index."""
    db.execute(
        "INSERT INTO live_fts (rowid, title, tags, path, body, parts, near)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (row, *columns),
    )


def index_live(db: sqlite3.Connection, row: int) -> None:
    """Add a row of `live` to its index."""
    add_columns(db, row, read_columns(db, row))


def read_columns(db: sqlite3.Connection, row: int) -> Columns:
    """Return the correct index columns of a row of `live`."""
    path, title, body, tags, at = db.execute(_TEXT, (row,)).fetchone()
    return make_columns(path, title, body, json.loads(tags), at, list(_read_near(db, row)))


def read_near(db: sqlite3.Connection, row: int) -> str:
    """Return the words of the neighbours of a row of `live`."""
    return join_near(list(_read_near(db, row)))


def find_neighbours(db: sqlite3.Connection, agent: str, session: str, written: int) -> list[int]:
    """Return the rows of `live` next to a place in a session, in the order of writing."""
    place = (agent, session, written, EACH_SIDE)
    before = db.execute(_SIDE.format("<", "DESC"), place).fetchall()
    after = db.execute(_SIDE.format(">", "ASC"), place).fetchall()
    return [row for (row,) in (*reversed(before), *after)]


def _read_near(db: sqlite3.Connection, row: int) -> Iterator[str]:
    place = db.execute("SELECT agent, session, written FROM live WHERE id = ?", (row,)).fetchone()
    for near in find_neighbours(db, *place):
        yield "\n".join(
            db.execute(
                "SELECT f.title, f.body FROM live l JOIN fact f ON f.id = l.fact_id WHERE l.id = ?",
                (near,),
            ).fetchone()
        )


def add_fact(
    db: sqlite3.Connection, title: str, body: str, tags: Iterable[str], *, uid: str = ""
) -> str:
    """Add the text of a fact and return its id: `uid` if it is unused."""
    row = (title, body, json.dumps(list(tags), ensure_ascii=False), size_bytes(title + body))
    uid = _make_uid(db, uid)
    db.execute(
        "INSERT INTO fact (uid, title, body, tags, bytes, sha256) VALUES (?, ?, ?, ?, ?, ?)",
        (uid, *row, digest_text(title, body)),
    )
    return uid


def digest_text(title: str, body: str) -> bytes:
    """Return the digest that identifies equal texts."""
    return hashlib.sha256(f"{title}\n{body}".encode("utf-8", "surrogatepass")).digest()


def append(db: sqlite3.Connection, change: Change) -> int:
    """Add a row to the ledger and return its number; also update the live facts of "main"."""
    seq, fact = db.execute(_APPEND, asdict(change)).fetchone()
    if change.branch == MAIN:
        follow(
            db,
            change.path,
            fact,
            seq,
            pinned=change.is_pinned,
            scope=change.scope,
            expires_at=change.expires_at,
        )
    return int(seq)


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
    """Apply a row of the ledger to `live`, its index, its neighbours' index, and the sums."""
    changed = set[int]()
    old = db.execute(
        "SELECT id, bytes, agent, session, written FROM live WHERE path = ?", (path,)
    ).fetchone()
    if old:
        db.execute("DELETE FROM live WHERE id = ?", (old[0],))
        db.execute("DELETE FROM live_fts WHERE rowid = ?", (old[0],))
        _add_to_marks(db, -old[1], -1)
        changed.update(find_neighbours(db, *old[2:]))
    if fact_id is not None:
        place = _add_live(db, path, fact_id, seq, pinned=pinned, scope=scope, expires_at=expires_at)
        index_live(db, seq)
        changed.update(find_neighbours(db, *place))
    for row in sorted(changed):
        db.execute("UPDATE live_fts SET near = ? WHERE rowid = ?", (read_near(db, row), row))


def replay(db: sqlite3.Connection) -> None:
    """Rebuild the live facts of "main" from the ledger."""
    db.execute("DELETE FROM live")
    db.execute("DELETE FROM live_fts")
    db.execute("UPDATE mark SET value = 0 WHERE name IN ('live_bytes', 'live_facts')")
    for path, row, seq, pinned, scope, expires_at in db.execute(_STANDING).fetchall():
        _add_live(db, path, row, seq, pinned=pinned, scope=scope, expires_at=expires_at)
    for (row,) in db.execute("SELECT id FROM live ORDER BY id").fetchall():
        index_live(db, row)


def _add_live(  # noqa: PLR0913 - a row of `live`
    db: sqlite3.Connection,
    path: str,
    fact_id: int,
    seq: int,
    *,
    pinned: bool,
    scope: Scope,
    expires_at: float | None,
) -> tuple[str, str, int]:
    """Add a row to `live`; return who wrote it, in which session and change."""
    agent, session, written = db.execute(
        "SELECT agent, session, max(seq) FROM change WHERE fact_id = ? AND path = ? AND seq <= ?"
        " AND operation NOT IN ('pin', 'unpin')",
        (fact_id, path, seq),
    ).fetchone()
    (size,) = db.execute("SELECT bytes FROM fact WHERE id = ?", (fact_id,)).fetchone()
    db.execute(
        "INSERT INTO live (id, path, fact_id, seq, pinned, scope, bytes, expires_at, agent,"
        " session, written) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (seq, path, fact_id, seq, int(pinned), scope, size, expires_at, agent, session, written),
    )
    _add_to_marks(db, size, 1)
    return agent, session, written


def _add_to_marks(db: sqlite3.Connection, size: int, count: int) -> None:
    db.execute("UPDATE mark SET value = value + ? WHERE name = 'live_bytes'", (size,))
    db.execute("UPDATE mark SET value = value + ? WHERE name = 'live_facts'", (count,))


def _make_uid(db: sqlite3.Connection, wanted: str) -> str:
    """Return an unused id: of a million, two random ones are often equal."""
    uid = wanted or _draw_uid()
    while True:
        if db.execute("SELECT 1 FROM fact WHERE uid = ?", (uid,)).fetchone() is None:
            return uid
        uid = _draw_uid()


def _draw_uid() -> str:
    return "mem-" + base64.b32encode(os.urandom(5)).decode().lower()
