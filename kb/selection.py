"""The chunks among which a query's words are counted and looked for.

Filters come first: words are chosen, weighed and corrected by how often they occur in what fits the
filters. So the same sources answer alike, whatever else is kept beside them.
"""

# ruff: noqa: S608 - only names and conditions fixed in this package are put into statements

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

from kb.compression import decompress
from kb.filters import Condition
from kb.words import vocabulary

SELECTED_MAX = 100_000
"""Of more chunks the filters are looked at behind the words: what holds among all holds among so
many, and finding their ids would take a tenth of a second."""

COUNTED = 1001
"""A word is counted as far as whoever asks next may want to know: asking twice costs more."""


class Chunks(Protocol):
    """Chunks that can be counted by the expressions that they match."""

    @property
    def size(self) -> int:
        """About how many there are."""
        ...

    def count(self, expression: str, limit: int) -> int:
        """Count those that match, as far as `limit`."""
        ...

    def has_word(self, word: str) -> bool:
        """Whether a word of the vocabulary is in one of those that match it, as it is written; the
        index tells its forms not apart."""
        ...


class Everything:
    """All chunks of one full-text table."""

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
        """Find those that match and whose ids are between the least and the largest of these: the
        rest is told apart faster by a set than by a join."""
        for table in self.tables:
            rows = self.db.execute(
                f"SELECT rowid FROM {table} WHERE {table} MATCH ? AND rowid BETWEEN ? AND ?",
                (expression, *self._bounds),
            )
            yield from (chunk_id for (chunk_id,) in rows)


def match(
    db: sqlite3.Connection, table: str, expression: str, ids: Collection[int], columns: str = ""
) -> list[tuple[Any, ...]]:
    """The ids of those among some chunks that match, each with further columns of the table."""
    if not ids:
        return []
    # The plus keeps SQLite from looking up each chunk in the index anew.
    return db.execute(
        f"SELECT rowid{columns} FROM {table} WHERE {table} MATCH ? AND rowid BETWEEN ? AND ?"
        " AND +rowid IN (SELECT value FROM json_each(?))",
        (expression, min(ids), max(ids), json.dumps([*ids])),
    ).fetchall()


def select(db: sqlite3.Connection, tables: Sequence[str], where: Condition) -> Selection | None:
    """The chunks that fit; None where they are more than `SELECTED_MAX`."""
    # The cross join has SQLite go through the sources, which are far fewer than the chunks.
    rows = db.execute(
        "SELECT c.id, c.source_id FROM source s CROSS JOIN chunk c ON c.source_id = s.id"
        f" WHERE {where.sql} LIMIT ?",
        (*where.values, SELECTED_MAX + 1),
    ).fetchall()
    return None if len(rows) > SELECTED_MAX else Selection(db, tables, dict(rows))
