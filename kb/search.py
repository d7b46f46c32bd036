"""Ranked search: which chunks answer a query, in two steps.

First ids and scores from the full-text index alone (`kb.ranking`), then the text of only those
that are shown.
"""

# ruff: noqa: S608 - only names and conditions fixed in this package are put into statements

from __future__ import annotations

import sqlite3
from collections import defaultdict
from dataclasses import dataclass, replace

from kb import mixing, vocabulary
from kb.candidates import expressions
from kb.compression import decompress
from kb.filters import Condition, Filters, condition, inline
from kb.model import Correction, Hit, QueryResult, SearchState
from kb.query import Corrections, Query, parse
from kb.ranking import POOL, Ranked, Ranking
from kb.snippets import within_budget

MOST_COPIES = 20
"""Identical texts are shown once. So many of each are looked through to fill an answer."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One query with all that decides its answer."""

    query: Query
    corrected: Corrections
    where: Condition
    tables: tuple[str, ...]
    limit: int
    filters: Filters

    @property
    def corrections(self) -> tuple[Correction, ...]:
        return tuple(
            Correction(typed, word) for typed, meant in self.corrected.items() for word in meant
        )


def search(
    db: sqlite3.Connection, text: str, filters: Filters, *, limit: int, budget_bytes: int | None
) -> QueryResult:
    """The answer to one query; `budget_bytes` bounds the UTF-8 size of all texts together."""
    ask = read_query(db, text, filters, limit)
    if not _is_anything_indexed(db, ask.where):
        return QueryResult(text, SearchState.NOTHING_INDEXED)
    if not ask.query.terms:
        return QueryResult(text, SearchState.NO_MATCH)
    hits = _hits(db, ask)
    shown = within_budget(
        hits, (*ask.query.terms, *(correction.used for correction in ask.corrections)), budget_bytes
    )
    return QueryResult(
        text,
        SearchState.MATCH if hits else SearchState.NO_MATCH,
        tuple(shown),
        ask.corrections,
        omitted=len(hits) - len(shown),
        incomplete_sources=_incomplete_sources(db, ask.where),
    )


def read_query(db: sqlite3.Connection, text: str, filters: Filters, limit: int) -> Ask:
    """What `text` and the filters in it and beside it ask for."""
    words, filters = inline(text, filters)
    query = parse(words)
    tables = ("chunk_fts", "history_fts") if filters.include_superseded else ("chunk_fts",)
    corrected = vocabulary.corrections(db, query.terms)
    return Ask(query, corrected, condition(filters), tables, limit, filters)


def _is_anything_indexed(db: sqlite3.Connection, where: Condition) -> bool:
    row = db.execute(
        f"SELECT 1 FROM source s JOIN chunk c ON c.source_id = s.id WHERE {where.sql} LIMIT 1",
        where.values,
    ).fetchone()
    return row is not None


def _incomplete_sources(db: sqlite3.Connection, where: Condition) -> int:
    if db.execute("SELECT 1 FROM pending").fetchone() is None:
        return 0
    row = db.execute(
        "SELECT count(DISTINCT s.id) FROM pending p JOIN source s ON s.id = p.source_id"
        f" JOIN chunk c ON c.source_id = s.id AND c.start_byte = 0 WHERE {where.sql}",
        where.values,
    ).fetchone()
    return int(row[0])


def _hits(db: sqlite3.Connection, ask: Ask) -> list[Hit]:
    """The first chunks in order of rank, identical texts once, later versions before earlier."""
    return _latest_first(hits_and_pool(db, ask)[0])


def hits_and_pool(db: sqlite3.Connection, ask: Ask) -> tuple[list[Hit], list[Ranked]]:
    """The first chunks in order of rank, and all that were ranked."""
    size = max(POOL, 2 * ask.limit)
    rankings = [
        Ranking(db, table, asked, ask.where, size)
        for table in ask.tables
        if (asked := expressions(db, table, ask.query, ask.corrected, ask.limit)) is not None
    ]
    while True:
        pool = [chunk for ranking in rankings for chunk in ranking.first(size)]
        whole = [*pool, *_others(db, ask, pool, size)]
        hits = _distinct(db, whole, ask)
        if len(hits) == ask.limit or len(pool) < size or size > MOST_COPIES * ask.limit:
            return hits, whole
        size *= MOST_COPIES  # a text that is kept many times has taken the others' places


def _distinct(db: sqlite3.Connection, pool: list[Ranked], ask: Ask) -> list[Hit]:
    """Choose hits of several kinds; identical texts once."""
    hits: dict[int, Hit] = {}
    seen: set[str] = set()

    def take(chunk: Ranked) -> bool:
        hit = _read(db, chunk.chunk_id, chunk.score, ask.corrections)
        is_new = hit.text not in seen
        if is_new:
            seen.add(hit.text)
            hits[hit.chunk_id] = hit
        return is_new

    kinds = mixing.read_kinds(db, (chunk.chunk_id for chunk in pool))
    ranked = sorted(pool, key=lambda chunk: -chunk.score)
    chosen = mixing.choose([(kinds[one.chunk_id], one) for one in ranked], ask.limit, take)
    return [hits[one.chunk_id] for one in chosen]


def _others(db: sqlite3.Connection, ask: Ask, pool: list[Ranked], size: int) -> list[Ranked]:
    """Rank what is of other kinds than the whole pool, where some of it may be as good."""
    scores = [chunk.score for chunk in pool]
    if len(ask.filters.places) == 1 or len(pool) < size or min(scores) < mixing.GOOD * max(scores):
        return []
    kinds = mixing.read_kinds(db, (chunk.chunk_id for chunk in pool)).values()
    where = mixing.find_unseen(db, kinds, ask.where)
    if where is None:
        return []
    found: list[Ranked] = []
    for table in ask.tables:
        asked = expressions(db, table, ask.query, ask.corrected, ask.limit)
        if asked is not None:
            found += Ranking(db, table, asked, where, ask.limit).first(ask.limit)
    return found


def _latest_first(hits: list[Hit]) -> list[Hit]:
    """The hits with those of one label, wherever they stand, in the order of its versions."""
    if not any(hit.superseded for hit in hits):
        return hits
    of_label: defaultdict[str, list[Hit]] = defaultdict(list)
    for hit in hits:
        of_label[hit.source].append(hit)
    by_version = {
        label: iter(sorted(found, key=lambda hit: -hit.source_id))
        for label, found in of_label.items()
    }
    scores = [hit.score for hit in hits]
    placed = [next(by_version[hit.source]) for hit in hits]
    return [replace(hit, score=score) for hit, score in zip(placed, scores, strict=True)]


def _read(
    db: sqlite3.Connection, chunk_id: int, score: float, corrections: tuple[Correction, ...]
) -> Hit:
    """The chunk as a hit."""
    (
        label,
        source_id,
        leaf,
        crumb,
        body,
        kind,
        language,
        start,
        end,
        first,
        last,
        part,
        old,
        origin,
        author,
        at,
    ) = db.execute(
        "SELECT s.label, s.id, c.leaf, c.crumb, c.body, c.kind, c.language, c.start_byte,"
        " c.end_byte, c.start_line, c.end_line, s.bytes_indexed < s.bytes_total,"
        " s.superseded_by IS NOT NULL, s.origin, s.author, coalesce(s.said_at, s.indexed_at)"
        " FROM chunk c JOIN source s ON s.id = c.source_id WHERE c.id = ?",
        (chunk_id,),
    ).fetchone()
    return Hit(
        chunk_id=chunk_id,
        source=label,
        source_id=source_id,
        title=f"{crumb} > {leaf}" if crumb else leaf,
        text=decompress(body),
        kind=kind,
        language=language,
        start_byte=start,
        end_byte=end,
        start_line=first,
        end_line=last,
        score=score,
        incomplete=bool(part),
        superseded=bool(old),
        corrections=corrections,
        origin=origin,
        author=author,
        at=at,
    )
