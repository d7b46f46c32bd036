"""Conditions on hits besides matching words: given by the caller, or in the query itself as
`kind:`, `lang:`, `source:`, `path:`, `session:`, `agent:`, `since:` and `in:`."""

# ruff: noqa: S608 - only names and conditions fixed in this package are put into statements

from __future__ import annotations

import json
import re
import sqlite3
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, Protocol

from base.wording import list_choices
from kb import filetypes
from kb.compression import decompress
from kb.words import vocabulary
from kb.writing import storable_values

_INLINE = re.compile(r"(?<!\S)(kind|lang|language|source|path|session|agent|since|in):(\S+)")
_AGE = re.compile(r"([0-9]{1,6})([smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_DAYS = {"today": 0, "yesterday": 1}
MOMENTS = "today, yesterday, an age such as 90s, 30m, 12h, 7d or 2w, or a date such as 2026-01-31"
"""The values of `since:`, in words."""

PLACES = {
    "runs": ("run",),
    "files": ("file", "note"),
    "web": ("fetch",),
    "memory": ("memory",),
    "pages": ("page",),
    "sessions": ("session",),
}
"""The values of `in:`, and the origins that each means."""


@dataclass(frozen=True, slots=True)
class Filters:
    """The conditions that a source must meet for its chunks to be found."""

    source: str | int | tuple[int, ...] | None = None  # an id, several, or a part of a label
    kind: str | None = None
    language: str | None = None
    session: str | None = None  # its name or a part of it
    since: float | None = None  # in seconds since the epoch
    include_superseded: bool = False
    path: str | None = None  # a part of a file's path
    agent: str | None = None  # a session's name up to a colon; of facts the author
    places: tuple[str, ...] = ()  # of `PLACES`; none means all


def inline(text: str, given: Filters) -> tuple[str, Filters]:
    """Return `text` without the filters in it, and those joined to `given`, which take precedence.

    A word that looks like a filter but has no valid value (`since:forever`) stays a word.
    """
    found = given
    rest = []
    position = 0
    for match in _INLINE.finditer(text):
        joined = _join(found, match.group(1), match.group(2))
        if joined is not None:
            found = joined
            rest.append(text[position : match.start()])
            position = match.end()
    return "".join([*rest, text[position:]]), found


def _join(filters: Filters, name: str, value: str) -> Filters | None:  # noqa: PLR0911 - one each
    if name == "since":
        since = moment(value)
        return None if since is None else replace(filters, since=filters.since or since)
    if name == "in":
        places = read_places(value)
        return None if places is None else replace(filters, places=filters.places or places)
    if name in ("lang", "language"):
        language = filetypes.canonical_language(value)
        return replace(filters, language=filters.language or language)
    if name == "source":
        return replace(filters, source=filters.source if filters.source is not None else value)
    if name == "path":
        return replace(filters, path=filters.path or value)
    if name == "session":
        return replace(filters, session=filters.session or value)
    if name == "agent":
        return replace(filters, agent=filters.agent or value)
    kind = value.lower()
    return replace(filters, kind=filters.kind or kind) if kind in list_kinds() else None


def list_kinds() -> list[str]:
    """List the kinds that sources and passages have, then the origins of sources."""
    from kb.chunkers import CHUNKERS  # noqa: PLC0415 - loads the parsers

    return [*CHUNKERS, *(origin for origins in PLACES.values() for origin in origins)]


def read_places(text: str) -> tuple[str, ...] | None:
    """Read comma-separated names of places; None if one of them is unknown."""
    names = tuple(text.lower().split(","))
    return names if all(name in PLACES for name in names) else None


def moment(text: str) -> float | None:
    """Return the time of an age (`90s`, `30m`, `12h`, `7d`, `2w`), a day (`today`, `yesterday`) or
    an ISO date, in seconds since the epoch; None if it is not one. Days begin at midnight, local
    time."""
    age = _AGE.fullmatch(text)
    if age:
        return time.time() - int(age.group(1)) * _SECONDS[age.group(2)]
    try:
        if text.lower() in _DAYS:
            day = datetime.now().date() - timedelta(days=_DAYS[text.lower()])
            return datetime(day.year, day.month, day.day).timestamp()
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return None


def without_sense(text: str) -> list[str]:
    """List what looks like a filter in a query but has no valid value, such as `since:forever`."""
    return [
        match.group()
        for match in _INLINE.finditer(text)
        if _join(Filters(), match.group(1), match.group(2)) is None
    ]


def explain_sense(unclear: str) -> tuple[str, str]:
    """Return the problem with a filter `without_sense`, and its remedy."""
    if unclear.startswith("in:"):
        return f"invalid {unclear}", f"Choose from: {', '.join(PLACES)}."
    if unclear.startswith("kind:"):
        kind = unclear.removeprefix("kind:")
        return f"unknown kind {kind!r}", list_choices(kind, list_kinds())
    return f"invalid {unclear}", f"Give {MOMENTS}."


Condition = tuple[str, tuple[object, ...]]
"""A WHERE clause and the values of its placeholders."""


def condition(filters: Filters) -> Condition:
    """Build the condition: not expired, and every filter given holds."""
    clauses = ["(s.expires_at IS NULL OR s.expires_at > ?)"]
    values: list[object] = [time.time()]
    if isinstance(filters.source, int):
        clauses.append("s.id = ?")
        values.append(filters.source)
    elif isinstance(filters.source, tuple):
        clauses.append("s.id IN (SELECT value FROM json_each(?))")
        values.append(json.dumps(filters.source))
    elif filters.source:
        clauses.append("instr(lower(s.label), lower(?)) > 0")
        values.append(filters.source)
    if not filters.include_superseded:
        clauses.append("s.superseded_by IS NULL")
    if filters.kind is not None:  # a page is of kind html, its chunks are Markdown; or an origin
        clauses.append("? IN (c.kind, s.kind, s.origin)")
        values.append(filters.kind)
    if filters.language is not None:
        clauses.append("c.language = ?")
        values.append(filters.language)
    if filters.session is not None:
        clauses.append("instr(s.session, ?) > 0")
        values.append(filters.session)
    if filters.agent is not None:
        clauses.append("(instr(s.session, ?) = 1 OR s.author = ?)")
        values += [f"{filters.agent}:", filters.agent]
    if filters.path:
        clauses.append("instr(s.path, ?) > 0")
        values.append(filters.path)
    if filters.since is not None:
        clauses.append("coalesce(s.said_at, s.indexed_at) >= ?")
        values.append(filters.since)
    if filters.places:
        origins = [origin for place in filters.places for origin in PLACES.get(place, ())]
        clauses.append(f"s.origin IN ({', '.join('?' * len(origins))})")
        values += origins
    return " AND ".join(clauses), storable_values(values)


# Filters come first: words are chosen, weighed and corrected by how often they occur in what fits
# them. So the same sources answer alike, whatever else is stored.

SELECTED_MAX = 100_000
"""If there are more chunks, the filters apply after the words: what holds among all holds among so
many, and finding their ids would take a tenth of a second."""

COUNTED = 1001
"""Counts stop here, at the most that any later question needs: counting twice costs more."""


class Chunks(Protocol):
    """Chunks that can be counted by the expressions that they match."""

    @property
    def size(self) -> int:
        """Estimate how many there are."""
        ...

    def count(self, expression: str, limit: int) -> int:
        """Count those that match, up to `limit`."""
        ...

    def has_word(self, word: str) -> bool:
        """Return whether a word of the vocabulary, exactly as written, is in a chunk that matches
        it; the index itself does not distinguish its forms."""
        ...


class Everything:
    """The chunks of one full-text table."""

    def __init__(self, db: sqlite3.Connection, table: str) -> None:
        self._db = db
        self._table = table
        self._counted: dict[str, tuple[int, int]] = {}

    @cached_property
    def size(self) -> int:
        return int(self._db.execute("SELECT coalesce(max(id), 0) FROM chunk").fetchone()[0])

    def count(self, expression: str, limit: int) -> int:
        count, counted = self._counted.get(expression, (0, 0))
        if limit > counted and count == counted:  # there may be more
            row = self._db.execute(
                f"SELECT count(*) FROM (SELECT 1 FROM {self._table} WHERE {self._table} MATCH ?"
                " LIMIT ?)",
                (expression, max(limit, COUNTED)),
            ).fetchone()
            count, counted = int(row[0]), max(limit, COUNTED)
            self._counted[expression] = (count, counted)
        return min(count, limit)

    def has_word(self, word: str) -> bool:
        return True


class Selection:
    """The chunks that fit a query's filters, which `tables` index; `sources` has the source of
    each."""

    def __init__(
        self, db: sqlite3.Connection, tables: Sequence[str], sources: Mapping[int, int]
    ) -> None:
        self.db = db
        self.tables = tables
        self.sources = sources
        self._bounds = (min(sources, default=0), max(sources, default=0))
        self._matching: dict[str, frozenset[int]] = {}

    @property
    def size(self) -> int:
        return len(self.sources)

    def count(self, expression: str, limit: int) -> int:
        return min(len(self.find(expression)), limit)

    def find(self, expression: str) -> frozenset[int]:
        """Find the ids of all that match."""
        found = self._matching.get(expression)
        if found is None:
            found = frozenset(filter(self.sources.__contains__, self._find_near(expression)))
            self._matching[expression] = found
        return found

    def has_word(self, word: str) -> bool:
        rows = self.db.execute(
            "SELECT body FROM chunk WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(sorted(self.find(f'"{word}"'))),),
        )
        return any(word in vocabulary(decompress(body)) for (body,) in rows)

    def _find_near(self, expression: str) -> Iterator[int]:
        """Find matches whose ids are between the smallest and the largest of these: a set excludes
        the rest faster than a join."""
        for table in self.tables:
            rows = self.db.execute(
                f"SELECT rowid FROM {table} WHERE {table} MATCH ? AND rowid BETWEEN ? AND ?",
                (expression, *self._bounds),
            )
            yield from (chunk_id for (chunk_id,) in rows)


def match(
    db: sqlite3.Connection, table: str, expression: str, ids: Collection[int], columns: str = ""
) -> list[tuple[Any, ...]]:
    """Return the ids of some chunks that match, each with other columns of the table."""
    if not ids:
        return []
    # The plus keeps SQLite from looking up each chunk in the index again.
    return db.execute(
        f"SELECT rowid{columns} FROM {table} WHERE {table} MATCH ? AND rowid BETWEEN ? AND ?"
        " AND +rowid IN (SELECT value FROM json_each(?))",
        (expression, min(ids), max(ids), json.dumps([*ids])),
    ).fetchall()


def select(db: sqlite3.Connection, tables: Sequence[str], where: Condition) -> Selection | None:
    """Return the chunks that fit; None if they are more than `SELECTED_MAX`."""
    # The cross join has SQLite go through the sources, which are far fewer than the chunks.
    rows = db.execute(
        "SELECT c.id, c.source_id FROM source s CROSS JOIN chunk c ON c.source_id = s.id"
        f" WHERE {where[0]} LIMIT ?",
        (*where[1], SELECTED_MAX + 1),
    ).fetchall()
    return None if len(rows) > SELECTED_MAX else Selection(db, tables, dict(rows))
