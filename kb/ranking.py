"""Which chunks fit a query best: BM25, raised where words stand together and where the rest of
the source fits as well.

The full-text index gives a pool of chunks by any of the words. To each chunk's score are added a
share of its score for neighbouring words near each other, and a share of the best scores of its
source, so that one good chunk in a fitting document goes before one in a stray one. The shares
were chosen on the query sets of `benchmarks.kb_quality`, where a range around them does as well.
"""

# ruff: noqa: S608 - only names and conditions fixed in this package are put into statements

from __future__ import annotations

import sqlite3
from collections import defaultdict
from dataclasses import dataclass

from kb.filters import Condition

POOL = 50
"""How many chunks are ranked; more never changed the first ten for the better."""

WEIGHTS = "3.0, 2.0, 1.0, 0.3, 2.0"
"""BM25 weights of leaf title, enclosing titles, text, identifier parts, and label."""

TOGETHER_SHARE = 0.2
SOURCE_SHARE = 0.15
SOURCE_DECAY = 0.7
SOURCE_CHUNKS = 5


@dataclass(frozen=True, slots=True)
class Expressions:
    """A query in full-text syntax: any of its words, and neighbouring ones near each other."""

    any: str
    together: str | None


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


def ranked(
    db: sqlite3.Connection,
    table: str,
    words: Expressions,
    where: Condition,
    size: int = POOL,
) -> list[Ranked]:
    """The best `size` chunks in one of the two full-text tables, best first."""
    by_words = _scores(db, table, words.any, where, size)
    by_nearness = _scores(db, table, words.together, where, 4 * size) if words.together else {}
    own = {
        chunk_id: (words, TOGETHER_SHARE * by_nearness.get(chunk_id, (0.0, 0))[0])
        for chunk_id, (words, _) in by_words.items()
    }
    by_source: defaultdict[int, list[float]] = defaultdict(list)
    for chunk_id, (_, source_id) in by_words.items():
        by_source[source_id].append(sum(own[chunk_id]))
    shares = {source_id: _source_share(scores) for source_id, scores in by_source.items()}
    chunks = [
        Ranked(chunk_id, *own[chunk_id], shares[source_id])
        for chunk_id, (_, source_id) in by_words.items()
    ]
    return sorted(chunks, key=lambda chunk: (-chunk.score, -chunk.chunk_id))


def _source_share(scores: list[float]) -> float:
    best = sorted(scores, reverse=True)[:SOURCE_CHUNKS]
    return SOURCE_SHARE * sum(score * SOURCE_DECAY**at for at, score in enumerate(best))


def _scores(
    db: sqlite3.Connection, table: str, expression: str, where: Condition, limit: int
) -> dict[int, tuple[float, int]]:
    """BM25, higher is better, and source of the best chunks by id."""
    rows = db.execute(
        f"SELECT f.rowid, -f.rank, c.source_id FROM {table} f JOIN chunk c ON c.id = f.rowid"
        " JOIN source s ON s.id = c.source_id"
        f" WHERE f.{table} MATCH ? AND f.rank MATCH 'bm25({WEIGHTS})' AND {where.sql}"
        " ORDER BY f.rank LIMIT ?",
        (expression, *where.values, limit),
    )
    return {chunk_id: (score, source_id) for chunk_id, score, source_id in rows}
