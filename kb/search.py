"""Ranked search: which chunks answer a query, in two steps.

First ids and scores from the full-text index alone, then the text of only those that are shown.
Two rankings are fused by rank: any of the words (BM25), and words standing together.
"""

# ruff: noqa: S608 - only names and conditions fixed in this package are put into statements

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, replace

from kb import vocabulary
from kb.filters import Condition, Filters, condition
from kb.model import Correction, Hit, QueryResult, SearchState
from kb.query import Query, parse
from kb.snippets import within_budget

POOL = 50
"""How many chunks of each ranking are fused; more never changed the first ten in measurement."""

FUSION_K = 60
"""The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher 2009)."""

TOGETHER_WEIGHT = 0.5
WEIGHTS = "3.0, 1.0, 1.0, 0.3"
"""BM25 weights of leaf title, enclosing titles, text, and identifier parts."""


@dataclass(frozen=True, slots=True)
class _Ask:
    """One query with all that decides its answer."""

    query: Query
    corrected: dict[str, str]
    where: Condition
    tables: tuple[str, ...]
    limit: int


def search(
    db: sqlite3.Connection, text: str, filters: Filters, *, limit: int, budget_bytes: int | None
) -> QueryResult:
    """The answer to one query; `budget_bytes` bounds the UTF-8 size of all texts together."""
    query, where = parse(text), condition(filters)
    if not _anything_indexed(db, where):
        return QueryResult(text, SearchState.NOTHING_INDEXED)
    if not query.terms:
        return QueryResult(text, SearchState.NO_MATCH)
    corrected = vocabulary.corrections(db, query.terms)
    tables = ("chunk_fts", "history_fts") if filters.include_superseded else ("chunk_fts",)
    corrections = tuple(Correction(typed, used) for typed, used in corrected.items())
    hits = _hits(db, _Ask(query, corrected, where, tables, limit))
    hits = [replace(hit, corrections=corrections) for hit in hits]
    shown = within_budget(hits, (*query.terms, *corrected.values()), budget_bytes)
    return QueryResult(
        text,
        SearchState.MATCH if hits else SearchState.NO_MATCH,
        tuple(shown),
        corrections,
        omitted=len(hits) - len(shown),
        incomplete_sources=_incomplete_sources(db, where),
    )


def _anything_indexed(db: sqlite3.Connection, where: Condition) -> bool:
    row = db.execute(
        f"SELECT 1 FROM source s JOIN chunk c ON c.source_id = s.id WHERE {where.sql} LIMIT 1",
        where.values,
    ).fetchone()
    return row is not None


def _incomplete_sources(db: sqlite3.Connection, where: Condition) -> int:
    row = db.execute(
        "SELECT count(DISTINCT s.id) FROM pending p JOIN source s ON s.id = p.source_id"
        f" JOIN chunk c ON c.source_id = s.id AND c.start_byte = 0 WHERE {where.sql}",
        where.values,
    ).fetchone()
    return int(row[0])


def _hits(db: sqlite3.Connection, ask: _Ask) -> list[Hit]:
    """The first chunks by fused rank, identical texts once."""
    scores: dict[int, float] = {}
    for table in ask.tables:
        for chunk_id, score in _scored(db, table, ask):
            scores[chunk_id] = scores.get(chunk_id, 0.0) + score
    hits: list[Hit] = []
    seen: set[str] = set()
    for chunk_id in sorted(scores, key=lambda chunk_id: (-scores[chunk_id], -chunk_id)):
        if len(hits) == ask.limit:
            break
        hit = _read(db, chunk_id, scores[chunk_id])
        if hit.text not in seen:
            seen.add(hit.text)
            hits.append(hit)
    return hits


def _scored(db: sqlite3.Connection, table: str, ask: _Ask) -> Iterator[tuple[int, float]]:
    """The contributions of both rankings to each chunk's score."""
    pool = max(POOL, 2 * ask.limit)
    for expression, weight in (
        (ask.query.matching(ask.corrected), 1.0),
        (ask.query.together(ask.corrected), TOGETHER_WEIGHT),
    ):
        if expression is None:
            continue
        rows = db.execute(
            f"SELECT f.rowid FROM {table} f JOIN chunk c ON c.id = f.rowid"
            " JOIN source s ON s.id = c.source_id"
            f" WHERE f.{table} MATCH ? AND {ask.where.sql} AND f.rank MATCH 'bm25({WEIGHTS})'"
            " ORDER BY f.rank LIMIT ?",
            (expression, *ask.where.values, pool),
        )
        for rank, (chunk_id,) in enumerate(rows, 1):
            yield chunk_id, weight / (FUSION_K + rank)


def _read(db: sqlite3.Connection, chunk_id: int, score: float) -> Hit:
    """The chunk as a hit."""
    label, source_id, leaf, crumb, body, kind, language, start, end, first, last, part, old = (
        db.execute(
            "SELECT s.label, s.id, c.leaf, c.crumb, c.body, c.kind, c.language, c.start_byte,"
            " c.end_byte, c.start_line, c.end_line, s.bytes_indexed < s.bytes_total,"
            " s.superseded_by IS NOT NULL"
            " FROM chunk c JOIN source s ON s.id = c.source_id WHERE c.id = ?",
            (chunk_id,),
        ).fetchone()
    )
    return Hit(
        chunk_id=chunk_id,
        source=label,
        source_id=source_id,
        title=f"{crumb} > {leaf}" if crumb else leaf,
        text=body,
        kind=kind,
        language=language,
        start_byte=start,
        end_byte=end,
        start_line=first,
        end_line=last,
        score=score,
        incomplete=bool(part),
        superseded=bool(old),
    )
