"""Ranked search for the chunks that answer a query, in two steps.

First ids and scores from the full-text index alone (`kb.ranking`), then the text of only those that
are shown.
"""

# ruff: noqa: S608 - only names and conditions fixed in this package are put into statements

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Protocol, TypeVar

from kb import vocabulary
from kb.candidates import choose
from kb.compression import decompress
from kb.filters import PLACES, Condition, Everything, Filters, Selection, condition, inline, select
from kb.focus import find_shape, focus, strong_first
from kb.model import (
    Correction,
    ExplainedHit,
    Hit,
    QueryExpression,
    QueryResult,
    RankExplanation,
    SearchState,
)
from kb.query import Corrections, Query, drop_mistyped_parts, near, parse
from kb.ranking import POOL, Ranked, Ranking, rank_all, rank_selected

if TYPE_CHECKING:
    from kb.store import Store

GOOD = 0.5
"""A hit is good if its score is at least this share of the best."""

SHARE_OF_TWO = 0.6
"""The share of one kind while another one has good hits; of three kinds, half."""

SHARE_OF_MORE = 0.5

_PLACE_OF = {origin: place for place, origins in PLACES.items() for origin in origins}


class Scored(Protocol):
    """An item with a score; the highest is the best."""

    @property
    def score(self) -> float: ...


One = TypeVar("One", bound=Scored)


def choose_mixed(
    ranked: Sequence[tuple[str, One]], limit: int, take: Callable[[One], bool]
) -> list[One]:
    """Choose `limit` ranked items, each with its kind, the best first. `take` is called in the
    order of choice and refuses duplicates.

    Good ones go in by their rank, but no kind beyond its share. Remaining places then go to the
    best of the others, whatever their kind.
    """
    if not ranked:
        return []
    good = GOOD * ranked[0][1].score
    kinds = {kind for kind, one in ranked if one.score >= good}
    share = {1: 1.0, 2: SHARE_OF_TWO}.get(len(kinds), SHARE_OF_MORE)
    most = max(1, int(share * limit))
    counts: Counter[str] = Counter()
    chosen: dict[int, One] = {}
    put_off: list[tuple[int, One]] = []
    for rank, (kind, one) in enumerate(ranked):
        if len(chosen) == limit:
            break
        if one.score < good or counts[kind] >= most:
            put_off.append((rank, one))
        elif take(one):
            counts[kind] += 1
            chosen[rank] = one
    for rank, one in put_off:
        if len(chosen) == limit:
            break
        if take(one):
            chosen[rank] = one
    return [chosen[rank] for rank in sorted(chosen)]


def read_kinds(db: sqlite3.Connection, source_ids: Iterable[int]) -> Mapping[int, str]:
    """Read the kinds of sources, as `in:` names them."""
    ids = tuple(set(source_ids))
    rows = db.execute(
        f"SELECT id, origin FROM source WHERE id IN ({', '.join('?' * len(ids))})", ids
    )
    return {source_id: _PLACE_OF.get(origin, origin) for source_id, origin in rows}


def find_unseen(db: sqlite3.Connection, kinds: Iterable[str], where: Condition) -> Condition | None:
    """Return the condition for all kinds not seen yet; None if all were seen."""
    seen = [origin for kind in set(kinds) for origin in PLACES.get(kind, (kind,))]
    marks = ", ".join("?" * len(seen))
    others = (f"{where[0]} AND s.origin NOT IN ({marks})", (*where[1], *seen))
    found = db.execute(f"SELECT 1 FROM source s WHERE s.origin NOT IN ({marks}) LIMIT 1", seen)
    return None if found.fetchone() is None else others


MOST_COPIES = 20
"""Equal texts are shown once. Up to this many copies of each are read to fill an answer."""

WEAK = 0.5
"""A hit with less of the query's words, by `Ranked.fit`, is weak. On the sets of `benchmarks
kb.quality` at most 1 in 100 right hits among the first three are weak, but 1 in 60 and 1 in 20 for
Python code. Of the best hits for queries of another set, to which nothing fits, 1 in 12 to 1 in 3
are."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One query with everything that decides its answer."""

    query: Query
    corrected: Corrections
    where: Condition
    tables: tuple[str, ...]
    limit: int
    filters: Filters
    selection: Selection | None
    """The chunks that fit the filters; None if all do, or so many that all are searched."""
    current: Everything
    """The chunks of current sources."""
    corrections: tuple[Correction, ...]
    words: tuple[str, ...]
    """The words to look for: those of the query, and the corrections."""


def search(
    db: sqlite3.Connection, text: str, filters: Filters, *, limit: int, budget_bytes: int | None
) -> QueryResult:
    """Answer one query; `budget_bytes` bounds the UTF-8 size of all texts together."""
    ask = read_query(db, text, filters, limit)
    hits = hits_and_pool(db, ask, rank(db, ask))[0] if ask.query.terms else []
    # Only an answer without hits depends on whether there was something to search.
    if not hits and not _is_anything_indexed(db, ask):
        return QueryResult(text, SearchState.NOTHING_INDEXED)
    if not ask.query.terms:
        return QueryResult(text, SearchState.NO_MATCH)
    shown = strong_first([focus(hit, ask.words) for hit in hits], ask.words, budget_bytes)
    return QueryResult(
        text,
        SearchState.MATCH if hits else SearchState.NO_MATCH,
        tuple(shown),
        ask.corrections,
        omitted=len(hits) - len(shown),
        incomplete_sources=_incomplete_sources(db, ask.where),
    )


def read_query(db: sqlite3.Connection, text: str, filters: Filters, limit: int) -> Ask:
    """Read a query: `text`, the filters in it, and the given filters."""
    words, filters = inline(text, filters)
    query = parse(words)
    tables = ("chunk_fts", "history_fts") if filters.include_superseded else ("chunk_fts",)
    where = condition(filters)
    narrows = filters != Filters(include_superseded=filters.include_superseded)
    selection = select(db, tables, where) if narrows else None
    current = Everything(db, tables[0])
    corrected: Corrections = vocabulary.corrections(db, selection or current, query.terms)
    if corrected:
        query, corrected = drop_mistyped_parts(query, corrected)
    pairs = tuple((typed, word) for typed, meant in corrected.items() for word in meant)
    looked_for = (*query.terms, *(used for _, used in pairs))
    return Ask(
        query, corrected, where, tables, limit, filters, selection, current, pairs, looked_for
    )


def _is_anything_indexed(db: sqlite3.Connection, ask: Ask) -> bool:
    if ask.selection is not None:
        return ask.selection.size > 0
    row = db.execute(
        "SELECT 1 FROM source s CROSS JOIN chunk c ON c.source_id = s.id"
        f" WHERE {ask.where[0]} LIMIT 1",
        ask.where[1],
    ).fetchone()
    return row is not None


def _incomplete_sources(db: sqlite3.Connection, where: Condition) -> tuple[int, ...]:
    if db.execute("SELECT 1 FROM pending").fetchone() is None:
        return ()
    rows = db.execute(
        "SELECT DISTINCT s.id FROM pending p JOIN source s ON s.id = p.source_id"
        f" JOIN chunk c ON c.source_id = s.id AND c.start_byte = 0 WHERE {where[0]}"
        " ORDER BY s.id DESC",
        where[1],
    )
    return tuple(row[0] for row in rows)


def rank(db: sqlite3.Connection, ask: Ask) -> list[Ranking]:
    """Return the chunks that have words of the query, each in one of the rankings."""
    if ask.selection is not None:
        choice = choose(ask.selection, ask.query, ask.corrected, ask.limit)
        return [] if choice is None else [rank_selected(ask.selection, choice)]
    others = [Everything(db, table) for table in ask.tables[1:]]
    choices = {
        table: choose(chunks, ask.query, ask.corrected, ask.limit)
        for table, chunks in zip(ask.tables, (ask.current, *others), strict=True)
    }
    return [
        rank_all(db, table, choice, ask.where)
        for table, choice in choices.items()
        if choice is not None
    ]


def hits_and_pool(
    db: sqlite3.Connection, ask: Ask, rankings: list[Ranking]
) -> tuple[list[Hit], list[Ranked]]:
    """Return the hits, and all chunks that were ranked.

    The hits are the first chunks by rank, identical texts once, later versions before earlier, and
    weak ones last.
    """
    size = max(POOL, 2 * ask.limit)
    while True:
        pool = [chunk for ranking in rankings for chunk in ranking.first(size)]
        is_all = len(pool) < size
        whole = pool if is_all else [*pool, *_others(db, ask, rankings, pool)]
        hits = _distinct(db, whole, ask)
        if len(hits) == ask.limit or is_all or size > MOST_COPIES * ask.limit:
            if any(hit.superseded for hit in hits):
                hits = _latest_first(hits)
            return sorted(hits, key=lambda hit: hit.weak), whole
        size *= MOST_COPIES  # a text that is stored many times has taken the others' places


def _distinct(db: sqlite3.Connection, pool: list[Ranked], ask: Ask) -> list[Hit]:
    """Choose hits of several kinds; equal ones once."""
    hits: dict[str, Hit] = {}

    def take(chunk: Ranked) -> bool:
        hit = _read(db, chunk, ask.corrections)
        shape = find_shape(hit, ask.words)
        same = hits.get(shape)
        hits[shape] = hit if same is None else replace(same, alike=same.alike + 1)
        return same is None

    kinds = read_kinds(db, (chunk.source_id for chunk in pool))
    ranked = sorted(pool, key=lambda chunk: -chunk.score)
    chosen = choose_mixed([(kinds[one.source_id], one) for one in ranked], ask.limit, take)
    found = {hit.chunk_id: hit for hit in hits.values()}
    return [found[one.chunk_id] for one in chosen]


def _others(
    db: sqlite3.Connection, ask: Ask, rankings: list[Ranking], pool: list[Ranked]
) -> list[Ranked]:
    """Rank chunks of kinds that the pool lacks, if some may be as good."""
    scores = [chunk.score for chunk in pool]
    if len(ask.filters.places) == 1 or min(scores) < GOOD * max(scores):
        return []
    if ask.selection is not None:  # all of it is scored already
        known = {chunk.chunk_id for chunk in pool}
        ranked = (one for ranking in rankings for one in ranking.first(ask.selection.size))
        return [chunk for chunk in ranked if chunk.chunk_id not in known]
    kinds = read_kinds(db, (chunk.source_id for chunk in pool)).values()
    where = find_unseen(db, kinds, ask.where)
    if where is None:
        return []
    others = rank(db, replace(ask, where=where))
    return [chunk for ranking in others for chunk in ranking.first(ask.limit)]


def _latest_first(hits: list[Hit]) -> list[Hit]:
    """Return the hits with those of one label, wherever they are, in the order of its versions."""
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


def _read(db: sqlite3.Connection, chunk: Ranked, corrections: tuple[Correction, ...]) -> Hit:
    """Read the chunk as a hit."""
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
        (chunk.chunk_id,),
    ).fetchone()
    return Hit(
        chunk_id=chunk.chunk_id,
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
        score=chunk.score,
        incomplete=bool(part),
        superseded=bool(old),
        corrections=corrections,
        weak=chunk.fit is not None and chunk.fit < WEAK,
        origin=origin,
        author=author,
        at=at,
    )


# The explanation of ranks: a query as the index received it, and each hit's scores.


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
    values = ((field.name, getattr(ask.filters, field.name)) for field in fields(ask.filters))
    in_force = ((name, str(value)) for name, value in values if value not in (None, False, "", ()))
    return RankExplanation(
        query=query,
        words=ask.query.terms,
        corrections=ask.corrections,
        filters=tuple(in_force),
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
