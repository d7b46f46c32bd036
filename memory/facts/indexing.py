"""The index of facts: of each its own words, the day on which it was written, and beside them the
words of its neighbours.

Neighbours are the two facts before and the two after it that the same agent wrote in the same
session: an answer often stands beside the words of its question.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kb.words import index_terms

EACH_SIDE = 2
NEAR_CHARS_MAX = 1000
"""So much of a neighbour's text counts: that of long facts would outweigh their own."""

_SIDE = """
SELECT id FROM live WHERE agent = ? AND session = ? AND session != '' AND written {} ?
ORDER BY written {} LIMIT ?
"""
_TEXT = """
SELECT l.path, f.title, f.body, f.tags, w.at FROM live l JOIN fact f ON f.id = l.fact_id
JOIN change w ON w.seq = l.written WHERE l.id = ?
"""


@dataclass(frozen=True, slots=True)
class Columns:
    """What the index has of a fact."""

    title: str
    tags: str
    path: str
    body: str
    parts: str
    near: str


def make_columns(  # noqa: PLR0913, PLR0917 - what a fact is found by
    path: str, title: str, body: str, tags: Iterable[str], at: float, near: Sequence[str]
) -> Columns:
    """Make what the index has of a fact that was written at a time beside others."""
    words = " ".join(tags)
    own = index_terms("\n".join((title, body, words)))
    parts = f"{own} {date_words(at)}"
    return Columns(title, words, path, body, parts, join_near(near))


def date_words(at: float) -> str:
    """Return the words of a day, such as "8 May 2023"; none of a time that no calendar has."""
    try:
        day = time.gmtime(at)
    except (OverflowError, ValueError, OSError):
        return ""
    return f"{day.tm_mday} {_MONTHS[day.tm_mon - 1]} {day.tm_year}"


_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
"""In English, whatever the machine's language."""


def join_near(texts: Sequence[str]) -> str:
    """Return the words of neighbours, in their order."""
    text = "\n".join(one[:NEAR_CHARS_MAX] for one in texts)
    return f"{text} {index_terms(text)}".strip()


def add_columns(db: sqlite3.Connection, row: int, columns: Columns) -> None:
    """Add a fact to an index."""
    db.execute(
        "INSERT INTO live_fts (rowid, title, tags, path, body, parts, near)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            *(row, columns.title, columns.tags, columns.path, columns.body),
            *(columns.parts, columns.near),
        ),
    )


def index_live(db: sqlite3.Connection, row: int) -> None:
    """Add a row of `live` to its index."""
    add_columns(db, row, read_columns(db, row))


def read_columns(db: sqlite3.Connection, row: int) -> Columns:
    """Return what the index should have of a row of `live`."""
    path, title, body, tags, at = db.execute(_TEXT, (row,)).fetchone()
    return make_columns(path, title, body, json.loads(tags), at, list(_read_near(db, row)))


def read_near(db: sqlite3.Connection, row: int) -> str:
    """Return the words of the neighbours of a row of `live`."""
    return join_near(list(_read_near(db, row)))


def find_neighbours(db: sqlite3.Connection, agent: str, session: str, written: int) -> list[int]:
    """Return the rows of `live` beside a place in a session, in the order of writing."""
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
