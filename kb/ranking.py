"""Which chunks fit a query best: BM25, raised where words stand together and where the rest of
the source fits as well.

The full-text index gives a pool of chunks by the words of the query. Each chunk's score gains a
share of its score for words near each other, and of the best scores of its source. So a good chunk
in a fitting document goes before one in a stray one. The shares were chosen on the query sets of
`benchmarks.kb_quality`, where a range around them does as well. Adding scores does better there
than adding reciprocal ranks.
"""

# ruff: noqa: S608 - only names and conditions fixed in this package are put into statements

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from kb.candidates import Expressions
from kb.filters import Condition

POOL = 50
"""How many chunks are ranked; more never changed the first ten for the better."""

WEIGHTS = "3.0, 2.0, 1.0, 0.3, 2.0"
"""BM25 weights of leaf title, enclosing titles, text, identifier parts, and label."""

TOGETHER_SHARE = 0.2
SOURCE_SHARE = 0.15
SOURCE_DECAY = 0.7
SOURCE_CHUNKS = 5

_BATCH = 64


@dataclass(frozen=True, slots=True)
class Ranked:
    """A chunk's place in the answer, and what its score is made of."""

    chunk_id: int
    words: float
    together: float
    source: float

    @property
    def score(self) -> float:
        return self.words + self.together + self.source


class Ranking:
    """A query's chunks in one of the two full-text tables, ranked as far as is asked for: what is
    found is scored once, however often more of it is wanted."""

    def __init__(
        self,
        db: sqlite3.Connection,
        table: str,
        expressions: Expressions,
        where: Condition,
        size: int = POOL,
    ) -> None:
        """`size` is how many chunks will be wanted at first."""
        together = expressions.together
        self._near = _near(db, table, together, 4 * size) if together else {}
        self._best = _best(db, table, expressions.words, where)
        self._times = expressions.times
        self._own: dict[int, tuple[float, float]] = {}
        self._by_source: defaultdict[int, list[int]] = defaultdict(list)

    def first(self, size: int) -> list[Ranked]:
        """The best `size` chunks, best first; no smaller than what was asked for before."""
        for chunk_id, score, source_id in islice(self._best, size - len(self._own)):
            near = TOGETHER_SHARE * self._near.get(chunk_id, 0.0)
            self._own[chunk_id] = (score / self._times, near)
            self._by_source[source_id].append(chunk_id)
        chunks = []
        for chunk_ids in self._by_source.values():
            share = _source_share([sum(self._own[chunk_id]) for chunk_id in chunk_ids])
            chunks += [Ranked(chunk_id, *self._own[chunk_id], share) for chunk_id in chunk_ids]
        return sorted(chunks, key=lambda chunk: (-chunk.score, -chunk.chunk_id))


def _source_share(scores: list[float]) -> float:
    best = sorted(scores, reverse=True)[:SOURCE_CHUNKS]
    return SOURCE_SHARE * sum(score * SOURCE_DECAY**at for at, score in enumerate(best))


def _best(
    db: sqlite3.Connection, table: str, expression: str, where: Condition
) -> Iterator[tuple[int, float, int]]:
    """Id, BM25 (higher is better) and source of the chunks that fit the filters, best first.

    The filters are looked at in the order of rank and only as far as chunks are asked for. The
    function itself is asked for the score, as the table's column of ranks computes it twice.
    """
    rows = db.execute(
        f"SELECT rowid, -bm25({table}, {WEIGHTS}) AS score FROM {table} WHERE {table} MATCH ?"
        " ORDER BY score DESC",
        (expression,),
    )
    while batch := rows.fetchmany(_BATCH):
        scores: dict[int, float] = dict(batch)
        marks = ", ".join("?" * len(scores))
        sources: dict[int, int] = dict(
            db.execute(
                "SELECT c.id, c.source_id FROM chunk c JOIN source s ON s.id = c.source_id"
                f" WHERE c.id IN ({marks}) AND {where.sql}",
                (*scores, *where.values),
            ).fetchall()
        )
        for chunk_id, score in scores.items():
            if chunk_id in sources:
                yield chunk_id, score, sources[chunk_id]


def _near(db: sqlite3.Connection, table: str, expression: str, limit: int) -> dict[int, float]:
    """BM25 by id of the chunks in which neighbouring words stand near each other best."""
    rows = db.execute(
        f"SELECT rowid, -bm25({table}, {WEIGHTS}) AS score FROM {table} WHERE {table} MATCH ?"
        " ORDER BY score DESC LIMIT ?",
        (expression, limit),
    )
    return dict(rows.fetchall())
