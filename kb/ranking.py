"""Ranking of chunks for a query: BM25, raised if words are near each other and if the rest of the
source fits as well.

The full-text index returns a pool of chunks by the words of the query. Each chunk's score gains a
share of its score for words near each other, and of the best scores of its source. So a good chunk
in a fitting document ranks before one in a stray one. The shares were chosen on the query sets of
`benchmarks kb.quality`, where a range around them does as well. Adding scores does better there
than adding reciprocal ranks.
"""

# ruff: noqa: S608 - only names and conditions fixed in this package are put into statements

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import islice

from kb.candidates import WEIGHTS, Choice, SelectedScores
from kb.filters import Condition, Selection, match
from kb.query import near

POOL = 50
"""The number of ranked chunks; more never changed the first ten for the better."""

TOGETHER_SHARE = 0.2
SOURCE_SHARE = 0.15
SOURCE_DECAY = 0.7
SOURCE_CHUNKS = 5

_BATCH = 64

Scored = tuple[int, float, int]
"""Id, BM25 (higher is better) and source of a chunk."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A chunk's place in the answer, and the parts of its score."""

    chunk_id: int
    source_id: int
    words: float
    together: float
    source: float
    score: float  # their sum
    fit: float | None  # `words` by the score of a chunk with each word once; None: unknown


class Ranking:
    """A query's chunks, ranked as needed: each is scored once, however many are requested later."""

    def __init__(
        self,
        tables: Sequence[str],
        choice: Choice,
        best: Iterator[Scored],
        score_pairs: Callable[[Set[int]], Mapping[int, float]],
    ) -> None:
        """Set up: `best` has the chunks by words alone, best first; `score_pairs` scores words
        near each other in some of them; `tables` index them."""
        self.tables = tables
        self.choice = choice
        self._best = best
        self._score_pairs = score_pairs
        self._own: dict[int, tuple[float, float]] = {}
        self._by_source: defaultdict[int, list[int]] = defaultdict(list)

    def first(self, size: int) -> list[Ranked]:
        """Return the best `size` chunks, best first; never fewer than requested before."""
        new = list(islice(self._best, max(0, size - len(self._own))))
        near = self._score_pairs({chunk_id for chunk_id, _, _ in new})
        for chunk_id, score, source_id in new:
            self._own[chunk_id] = (score, TOGETHER_SHARE * near.get(chunk_id, 0.0))
            self._by_source[source_id].append(chunk_id)
        chunks = []
        for source_id, chunk_ids in self._by_source.items():
            own = sorted((sum(self._own[chunk_id]) for chunk_id in chunk_ids), reverse=True)
            share = SOURCE_SHARE * sum(
                score * SOURCE_DECAY**at for at, score in enumerate(own[:SOURCE_CHUNKS])
            )
            for chunk_id in chunk_ids:
                words, together = self._own[chunk_id]
                fit = words / self.choice.weight if self.choice.weight else None
                score = words + together + share
                chunks.append(Ranked(chunk_id, source_id, words, together, share, score, fit))
        return sorted(chunks, key=lambda chunk: (-chunk.score, -chunk.chunk_id))


def rank_all(db: sqlite3.Connection, table: str, choice: Choice, where: Condition) -> Ranking:
    """Rank the chunks of a full-text table; those that do not fit the filters are skipped."""
    together = " OR ".join(near(*pair) for pair in choice.pairs)

    def score_pairs(ids: Set[int]) -> Mapping[int, float]:
        score = f", -bm25({table}, {WEIGHTS})"
        return dict(match(db, table, together, ids, score)) if together else {}

    return Ranking((table,), choice, _best(db, table, choice, where), score_pairs)


def rank_selected(selection: Selection, choice: Choice) -> Ranking:
    """Rank the chunks of a selection."""
    scores = SelectedScores(selection)
    best = iter(_best_selected(selection, choice, scores))
    return Ranking(
        selection.tables, choice, best, lambda ids: scores.score_pairs(choice.pairs, ids)
    )


def _best(db: sqlite3.Connection, table: str, choice: Choice, where: Condition) -> Iterator[Scored]:
    """Yield chunks by rank; filters apply only to as many as are requested. Calls the score
    function itself, as the table's column of ranks computes it twice."""
    rows = db.execute(
        f"SELECT rowid, -bm25({table}, {WEIGHTS}) AS score FROM {table} WHERE {table} MATCH ?"
        " ORDER BY score DESC",
        (choice.expression,),
    )
    while batch := rows.fetchmany(_BATCH):
        scores: dict[int, float] = dict(batch)
        marks = ", ".join("?" * len(scores))
        sources: dict[int, int] = dict(
            db.execute(
                "SELECT c.id, c.source_id FROM chunk c JOIN source s ON s.id = c.source_id"
                f" WHERE c.id IN ({marks}) AND {where[0]}",
                (*scores, *where[1]),
            ).fetchall()
        )
        for chunk_id, score in scores.items():
            if chunk_id in sources:
                yield chunk_id, score / choice.times, sources[chunk_id]


def _best_selected(selection: Selection, choice: Choice, scored: SelectedScores) -> list[Scored]:
    phrases = choice.query.phrases(choice.corrections)
    ids = frozenset().union(*(selection.find(choice.groups[at]) for at in choice.choosing))
    scores: defaultdict[int, float] = defaultdict(float)
    for at in (*choice.choosing, *choice.others):
        fitting = ids & selection.find(choice.groups[at])
        for chunk_id, score in scored.score(phrases[at], fitting).items():
            scores[chunk_id] += score
    ordered = sorted(scores.items(), key=lambda one: -one[1])
    return [(chunk_id, score, selection.sources[chunk_id]) for chunk_id, score in ordered]
