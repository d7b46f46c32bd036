"""One ranking over the hits of several stores for one query.

Scores of two stores don't compare: a word that is rare in one may be common in the other. So hits
are scored again, as if they were in one store. Each word of the query counts more if fewer of all
hits have it, and in each hit by how well that fits it. The order that a store itself gave its hits
stays: the next hit of each store competes.
"""

# ruff: noqa: S608 - only names fixed in this package are put into statements

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from math import log

from kb.candidates import WEIGHTS
from kb.filters import Filters, inline
from kb.focus import within_budget
from kb.model import Hit, QueryResult, SearchState
from kb.query import Corrections, Query, drop_mistyped_parts, expression, parse
from kb.schema import TOKENIZER
from kb.words import index_terms, with_name_parts

COLUMNS = "leaf, crumb, body, ident, label"


def merge(
    results: Sequence[QueryResult], *, limit: int, budget_bytes: int | None
) -> tuple[QueryResult, tuple[int, ...]]:
    """Merge the results of several stores for one query into at most `limit` hits, whose texts take
    at most `budget_bytes` together. Return it with the store of each hit, in order."""
    text = results[0].query if results else ""
    query = parse(inline(text, Filters())[0])
    lists = [result.hits for result in results]
    given = dict.fromkeys(one for result in results for one in result.corrections)
    with closing(_index([hit for hits in lists for hit in hits])) as db:
        # A word that occurs in one store as typed is not a typing mistake in another.
        corrections = tuple(one for one in given if not _match(db, expression(one[0])))
        meant: dict[str, list[str]] = {}
        for typed, used in corrections:
            meant.setdefault(typed, []).append(used)
        ranked = _rank(db, lists, *drop_mistyped_parts(query, meant))[:limit]
    terms = (*query.terms, *(used for _, used in corrections))
    shown = within_budget([hit for _, hit in ranked], terms, budget_bytes)
    states = {result.state for result in results}
    result = QueryResult(
        text,
        next((one for one in _BEST_FIRST if one in states), SearchState.NOTHING_INDEXED),
        tuple(shown),
        corrections,
        omitted=len(ranked) - len(shown),
        incomplete_sources=tuple(one for result in results for one in result.incomplete_sources),
    )
    return result, tuple(store for store, _ in ranked[: len(shown)])


_BEST_FIRST = (SearchState.MATCH, SearchState.NO_MATCH)


def _rank(
    db: sqlite3.Connection,
    lists: Sequence[Sequence[Hit]],
    query: Query,
    corrections: Corrections,
) -> list[tuple[int, Hit]]:
    """Rank the hits of several stores, each with its store's number, with scores that compare. Each
    list is best first. Hits of only a correction go if others have the word itself."""
    scores = _score(db, query, corrections, sum(map(len, lists)))
    has_any = any(scores)
    ranked: list[tuple[float, int, int, Hit]] = []
    begin = 0
    for store, hits in enumerate(lists):
        own = scores[begin : begin + len(hits)]
        begin += len(hits)
        for at, hit in enumerate(hits):
            if own[at] or not has_any or not hit.corrections:
                # A hit is at least as good as those that its store ranks after it.
                ranked.append((-max(own[at:]), at, store, hit))
    ranked.sort(key=lambda entry: entry[:3])
    return [(store, replace(hit, score=-score)) for score, _, store, hit in ranked]


def _score(
    db: sqlite3.Connection, query: Query, corrections: Corrections, count: int
) -> list[float]:
    scores = [0.0] * count
    for group in query.groups(corrections):
        found = _match(db, group)
        rarity = log(1 + (count - len(found) + 0.5) / (len(found) + 0.5))
        best = max(found.values(), default=0.0)
        for at, score in found.items():
            scores[at] += rarity * score / best
    return scores


def _index(hits: Sequence[Hit]) -> sqlite3.Connection:
    db = sqlite3.connect(":memory:")
    db.execute(f"CREATE VIRTUAL TABLE hit USING fts5({COLUMNS}, tokenize='{TOKENIZER}')")
    db.executemany(
        f"INSERT INTO hit (rowid, {COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)",
        ((at, *_columns(hit)) for at, hit in enumerate(hits)),
    )
    return db


def _match(db: sqlite3.Connection, expressed: str) -> dict[int, float]:
    """Find how well an expression fits the hits that it matches, by their numbers."""
    sql = f"SELECT rowid, -bm25(hit, {WEIGHTS}) FROM hit WHERE hit MATCH ?"
    return dict(db.execute(sql, (expressed,)).fetchall())


def _columns(hit: Hit) -> tuple[str, str, str, str, str]:
    crumb, _, leaf = hit.title.rpartition(" > ")
    leaf, crumb, label = map(with_name_parts, (leaf, crumb, hit.source))
    return leaf, crumb, hit.text, index_terms(hit.text), label
