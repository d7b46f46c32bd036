"""Ranking of the facts that match a query.

Facts are ranked by their rows. Only the texts of shown facts are read.
"""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kb import query as kb_query
from kb import storable_text
from kb.words import is_unspaced
from memory.facts.ledger import EACH_SIDE, add_columns, make_columns
from memory.facts.model import MAIN, SCOPES, Fact, Scope
from memory.facts.reading import read_facts
from memory.facts.schema import INDEX

_OWN = "{title tags path body parts}"
_ROWS = "SELECT rowid FROM live_fts WHERE live_fts MATCH ?"
_COUNT = "SELECT count(*) FROM live_fts WHERE live_fts MATCH ?"
_SCORES = "SELECT rowid, -bm25(live_fts, 3, 2, 1, 1, 1, .7) FROM live_fts WHERE live_fts MATCH ?"
_CANDIDATES = 1000
"""Facts to score, chosen by the rarer words of a query; scoring takes the time. A fact with none of
these words would rarely rank first."""

_COMMON = 400
"""Words in more facts than this count only in facts with the word in their own text."""

_PLACES = """
SELECT l.id, l.path, l.scope, l.session, l.written, f.sha256
FROM live l JOIN fact f ON f.id = l.fact_id
WHERE l.id IN (SELECT value FROM json_each(?))
    AND (l.expires_at IS NULL OR l.expires_at > ?)
"""
_MORE = """
been being could did had has having he her him his our she should than them they we were would your
"""
_MORE_STOP_WORDS = frozenset(_MORE.split())
"""Question words that the kb keeps, since it also searches code."""


@dataclass(frozen=True, slots=True)
class Match:
    """A fact that matches a query."""

    seq: int  # number of the fact's current change
    path: str
    scope: Scope
    session: str
    written: int  # number of the change that wrote it
    sha256: str
    is_full_match: bool = False  # whether it has the whole phrase
    score: float = 0.0
    matched: tuple[str, ...] = ()  # which of the terms it has
    store: int = 0

    @property
    def order(self) -> tuple[bool, float, int, int, str]:
        """Return the sort key, the best first."""
        scope = SCOPES.index(self.scope)
        return not self.is_full_match, -self.score, scope, -self.written, self.path


def find_matches(  # noqa: PLR0913 - what may be asked for
    db: sqlite3.Connection,
    query: str,
    *,
    branch: str,
    now: float,
    is_exact: bool = False,
    store: int = 0,
    most: int = 0,
    is_asked: Callable[[Match], bool] = lambda _: True,
) -> tuple[list[Match], int]:
    """List the matching facts of the requested scopes, unordered; all of them if the query is
    empty. `store` is the number of the file, by which a fact is read later. With `most`, list about
    that many of the best on main. Also return how many more have a word of the query."""
    query = storable_text(query)
    if is_exact or not kb_query.parse(query).terms:
        wanted = query if is_exact or query.strip() else ""
        plain = (
            _plain_match(fact, store, wanted)
            for fact in read_facts(db, branch, now=now)
            if not wanted or any(wanted in text for text in (fact.title, fact.text))
        )
        return [*filter(is_asked, plain)], 0
    if branch == MAIN:
        return _match(db, query, now, store, is_asked, most)
    facts = {fact.seq: fact for fact in read_facts(db, branch, now=now)}
    index = _make_index(facts.values())
    try:
        return [*filter(is_asked, _match_facts(index, query, facts, store))], 0
    finally:
        index.close()


def choose(matches: Iterable[Match]) -> list[Match]:
    """Sort matches, the best first, without those hidden by a nearer scope at their path, or with
    the text of a better one."""
    ordered = sorted(matches, key=lambda one: one.order)
    nearest: dict[str, int] = {}
    for match in ordered:
        scope = SCOPES.index(match.scope)
        nearest[match.path] = min(scope, nearest.get(match.path, scope))
    texts: dict[str, Match] = {}
    for match in ordered:
        # Each path is used once: its best match of the nearest scope.
        if SCOPES.index(match.scope) == nearest.get(match.path):
            del nearest[match.path]
            texts.setdefault(match.sha256, match)
    return list(texts.values())


def _plain_match(fact: Fact, store: int, wanted: str) -> Match:
    return Match(
        *(fact.seq, fact.path, fact.scope, fact.session, fact.seq, fact.sha256),
        is_full_match=bool(wanted),
        matched=(wanted,) if wanted else (),
        store=store,
    )


def _make_index(facts: Iterable[Fact]) -> sqlite3.Connection:
    """Index the facts that a branch sees. Neighbours are found by the time of writing."""
    index = sqlite3.connect(":memory:")
    index.execute(INDEX)
    sessions: dict[tuple[str, str], list[Fact]] = {}
    for fact in sorted(facts, key=lambda one: (one.at, one.seq)):
        # Without a session, each is alone.
        key = (fact.agent, fact.session) if fact.session else (fact.path, "")
        sessions.setdefault(key, []).append(fact)
    for own in sessions.values():
        for at, fact in enumerate(own):
            near = [
                f"{other.title}\n{other.text}"
                for other in (*own[max(0, at - EACH_SIDE) : at], *own[at + 1 : at + 1 + EACH_SIDE])
            ]
            columns = make_columns(fact.path, fact.title, fact.text, fact.tags, fact.at, near)
            add_columns(index, fact.seq, columns)
    return index


@dataclass(frozen=True, slots=True)
class _Found:
    """The rows that a query finds: their scores, the rows of each term, and of the phrase."""

    scores: Mapping[int, float]
    terms: Mapping[str, set[int]]
    phrase: set[int]
    total: int

    def rate(self, row: int) -> tuple[float, tuple[str, ...]]:
        """Return the score of a row, greater the more terms its own text has; and these terms."""
        matched = tuple(term for term, rows in self.terms.items() if row in rows)
        return self.scores[row] * (1 + len(matched) / len(self.terms)), matched

    def sort(self) -> list[int]:
        """List the rows, the best first; of equal ones, newer first."""
        counts = Counter(itertools.chain.from_iterable(self.terms.values()))
        terms = len(self.terms)
        rated = [
            (row in self.phrase, score * (1 + counts.get(row, 0) / terms), row)
            for row, score in self.scores.items()
        ]
        return [row for *_, row in sorted(rated, reverse=True)]


def _find(db: sqlite3.Connection, query: str, most: int = 0) -> _Found:
    """Find the rows that have a term; with `most`, only those that may rank among that many."""
    asked = kb_query.parse(query)
    terms = [term for term in asked.terms if term.lower() not in _MORE_STOP_WORDS] or asked.terms
    groups = kb_query.Query(tuple(terms)).groups({})
    own = [_find_rows(db, f"{_OWN} : ({group})") for group in groups]
    scores, total = _score(db, groups, own, most) if most else _score_all(db, groups)
    return _Found(
        scores,
        dict(zip(terms, own, strict=True)),
        _find_rows(db, "{title body} : " + kb_query.quote(query)) | _find_run_on(db, query),
        total,
    )


def _score_all(db: sqlite3.Connection, groups: Sequence[str]) -> tuple[dict[int, float], int]:
    scores = dict(db.execute(_SCORES, (_join(groups),)))
    return scores, len(scores)


def _score(
    db: sqlite3.Connection, groups: Sequence[str], own: Sequence[set[int]], most: int
) -> tuple[dict[int, float], int]:
    """Score the rows chosen by the rarer terms, or all if they are few; count all rows."""
    counts = [_count_rows(db, group) for group in groups]
    (facts,) = db.execute("SELECT value FROM mark WHERE name = 'live_facts'").fetchone()
    if min(sum(counts), facts) <= _CANDIDATES:
        return _score_all(db, groups)
    # BM25 gives no weight to a word in more than half of the facts.
    weighing = [at for at, count in enumerate(counts) if 2 * count < facts] or range(len(groups))
    chosen = _join(
        groups[at] if counts[at] <= _COMMON else f"{_OWN} : ({groups[at]})"
        for at in _choose_terms(weighing, counts, own, most)
    )
    # The sign makes SQLite query the index once for all rows, not once for each.
    query = f"{_SCORES} AND +rowid IN ({_ROWS})"
    scores = dict(db.execute(query, (_join(groups[at] for at in weighing), chosen)))
    return scores, _count_rows(db, _join(groups))


def _choose_terms(
    places: Sequence[int], counts: Sequence[int], own: Sequence[set[int]], most: int
) -> list[int]:
    """Return the places of the rarest terms that together find `most` rows or more."""
    total = 0
    chosen = []
    for at in sorted(places, key=lambda at: counts[at]):
        count = counts[at] if counts[at] <= _COMMON else len(own[at])
        if total >= most and total + count > _CANDIDATES:
            break
        total += count
        chosen.append(at)
    return chosen


def _match(  # noqa: PLR0913, PLR0917 - what may be asked for
    db: sqlite3.Connection,
    query: str,
    now: float,
    store: int,
    is_asked: Callable[[Match], bool],
    most: int,
) -> tuple[list[Match], int]:
    found = _find(db, query, most)
    rows = found.sort() if most else list(found.scores)
    matches: list[Match] = []
    seen = 0
    while seen < len(rows) and (not most or len(matches) < most):
        some = rows[seen : seen + most] if most else rows
        seen += len(some)
        places = db.execute(_PLACES, (json.dumps(some), now))
        for row, path, scope, session, written, sha256 in places:
            score, matched = found.rate(row)
            match = Match(
                *(row, path, scope, session, written, sha256.hex()),
                *(row in found.phrase, score, matched, store),
            )
            if is_asked(match):
                matches.append(match)
    if len(matches) < most and len(rows) < found.total:
        return _match(db, query, now, store, is_asked, 0)
    return matches, found.total - seen


def _match_facts(
    index: sqlite3.Connection, query: str, facts: Mapping[int, Fact], store: int
) -> Iterator[Match]:
    found = _find(index, query)
    for row in found.scores:
        fact = facts[row]
        score, matched = found.rate(row)
        yield Match(
            *(row, fact.path, fact.scope, fact.session, row, fact.sha256),
            *(row in found.phrase, score, matched, store),
        )


def _find_run_on(db: sqlite3.Connection, query: str) -> set[int]:
    """Return the rows that have a query in a script without blanks, which the index stores as pairs
    of characters."""
    terms: Sequence[str] = kb_query.parse(query).terms
    if not any(map(is_unspaced, terms)):
        return set()
    groups = " OR ".join(f"({kb_query.expression(term)})" for term in terms)
    plain = query.strip().casefold()
    rows = db.execute(
        "SELECT rowid, title, body FROM live_fts WHERE live_fts MATCH ?", (f"{_OWN} : ({groups})",)
    )
    return {row for row, *texts in rows if any(plain in text.casefold() for text in texts)}


def _find_rows(db: sqlite3.Connection, expression: str) -> set[int]:
    return set(itertools.chain.from_iterable(db.execute(_ROWS, (expression,))))


def _count_rows(db: sqlite3.Connection, expression: str) -> int:
    row = db.execute(_COUNT, (expression,)).fetchone()
    return int(row[0])


def _join(groups: Iterable[str]) -> str:
    return " OR ".join(f"({group})" for group in groups)
