"""Explanation of a hit's rank: the query as the index received it, and each hit's scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields

from kb.filters import Filters
from kb.model import ExplainedHit, QueryExpression, RankExplanation
from kb.query import near
from kb.ranking import Ranking
from kb.search import hits_and_pool, rank, read_query
from kb.store import Store


def explain(
    store: Store, query: str, filters: Filters | None = None, *, limit: int = 5
) -> RankExplanation:
    """Return what `Store.search` answers to `query`, and why in this order.

    Raises:
        ValueError: `limit` is below 1.
        StoreError: the file could not be read.
    """
    if limit < 1:
        raise ValueError(f"limit must be at least 1, not {limit}")
    with store.access.reading() as db:
        ask = read_query(db, query, filters or Filters(), limit)
        rankings = rank(db, ask)
        hits, pool = hits_and_pool(db, ask, rankings)
    by_words = _ranks({chunk.chunk_id: chunk.words for chunk in pool})
    by_nearness = _ranks({chunk.chunk_id: chunk.together for chunk in pool if chunk.together})
    scores = {chunk.chunk_id: chunk for chunk in pool}
    explained = []
    for hit in hits:
        score = scores[hit.chunk_id]
        explained.append(
            ExplainedHit(
                hit=hit,
                words=score.words,
                words_rank=by_words[hit.chunk_id],
                together=score.together,
                together_rank=by_nearness.get(hit.chunk_id),
                source=score.source,
            )
        )
    return RankExplanation(
        query=query,
        words=ask.query.terms,
        corrections=ask.corrections,
        filters=_in_force(ask.filters),
        expressions=tuple(_expressions(rankings)),
        ranked=len(pool),
        hits=tuple(explained),
    )


def _expressions(rankings: Sequence[Ranking]) -> Iterator[QueryExpression]:
    for ranking in rankings:
        choice = ranking.choice
        together = " OR ".join(near(*pair) for pair in choice.pairs)
        for table in ranking.tables:
            yield QueryExpression(table, choice.expression, choice.choosing_words, together or None)


def _ranks(scores: dict[int, float]) -> dict[int, int]:
    """Return the place of each id, the highest score first."""
    ordered = sorted(scores, key=lambda chunk_id: (-scores[chunk_id], -chunk_id))
    return {chunk_id: place for place, chunk_id in enumerate(ordered, 1)}


def _in_force(filters: Filters) -> tuple[tuple[str, str], ...]:
    values = ((field.name, getattr(filters, field.name)) for field in fields(filters))
    return tuple((name, str(value)) for name, value in values if value not in (None, False, "", ()))
