"""Why a hit ranks where it does: the query as the index was asked it, and each hit's scores."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import fields

from kb.candidates import expressions
from kb.filters import Filters
from kb.model import ExplainedHit, QueryExpression, RankExplanation
from kb.search import Ask, hits_and_pool, read_query
from kb.store import Store


def explain(
    store: Store, query: str, filters: Filters | None = None, *, limit: int = 5
) -> RankExplanation:
    """What `Store.search` answers to `query`, and why in this order.

    Raises:
        ValueError: `limit` is below 1.
        StoreError: the file could not be read.
    """
    if limit < 1:
        raise ValueError(f"limit must be at least 1, not {limit}")
    with store._access.reading() as db:
        ask = read_query(db, query, filters or Filters(), limit)
        hits, pool = hits_and_pool(db, ask)
        found = tuple(_expressions(db, ask))
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
        expressions=found,
        ranked=len(pool),
        hits=tuple(explained),
    )


def _expressions(db: sqlite3.Connection, ask: Ask) -> Iterator[QueryExpression]:
    for table in ask.tables:
        found = expressions(db, table, ask.query, ask.corrected, ask.limit)
        if found is not None:
            yield QueryExpression(table, found.words, found.choosing, found.together)


def _ranks(scores: dict[int, float]) -> dict[int, int]:
    """Place by id, the highest score first."""
    ordered = sorted(scores, key=lambda chunk_id: (-scores[chunk_id], -chunk_id))
    return {chunk_id: place for place, chunk_id in enumerate(ordered, 1)}


def _in_force(filters: Filters) -> tuple[tuple[str, str], ...]:
    values = ((field.name, getattr(filters, field.name)) for field in fields(filters))
    return tuple((name, str(value)) for name, value in values if value not in (None, False, "", ()))
