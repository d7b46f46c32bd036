"""Which facts answer a query, and in which order."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

from kb import query as kb_query
from kb.words import is_unspaced
from kb.writing import storable_text
from memory.facts.ledger import index_text
from memory.facts.model import MAIN, Fact
from memory.facts.reading import read_facts, read_live
from memory.facts.schema import INDEX

_COLUMNS = "{title tags path body parts}"
_SCORES = "SELECT rowid, -bm25(live_fts, 3, 2, 1, 1, 1, .3) FROM live_fts WHERE live_fts MATCH ?"
_READ_AT_ONCE = 400


@dataclass(frozen=True, slots=True)
class Match:
    """A fact that answers a query: whether it holds the whole phrase, and which of the terms."""

    fact: Fact
    is_full_match: bool
    score: float
    matched: tuple[str, ...]

    @property
    def order(self) -> tuple[bool, int, float, float, str]:
        """Sort by this, the best first."""
        newer = -self.fact.at
        return not self.is_full_match, -len(self.matched), -self.score, newer, self.fact.path


def find_matches(
    db: sqlite3.Connection, query: str, *, branch: str, now: float, is_exact: bool = False
) -> list[Match]:
    """List what answers a query, in no order; all that stands there where it is empty."""
    query = storable_text(query)
    if is_exact or not kb_query.parse(query).terms:
        wanted = query if is_exact or query.strip() else ""
        return [
            Match(fact, bool(wanted), 0.0, (wanted,) if wanted else ())
            for fact in read_facts(db, branch, now=now)
            if not wanted or any(wanted in text for text in (fact.title, fact.text))
        ]
    if branch == MAIN:
        return list(_match(db, query, None, now))
    facts = {fact.seq: fact for fact in read_facts(db, branch, now=now)}
    index = _make_index(facts)
    try:
        return list(_match(index, query, facts, now))
    finally:
        index.close()


def _make_index(facts: dict[int, Fact]) -> sqlite3.Connection:
    index = sqlite3.connect(":memory:")
    index.execute(INDEX)
    for seq, fact in facts.items():
        index_text(index, seq, fact.path, fact.title, fact.text, tags=fact.tags)
    return index


def _match(
    db: sqlite3.Connection, query: str, facts: dict[int, Fact] | None, now: float
) -> Iterator[Match]:
    asked = kb_query.parse(query)
    groups = asked.groups({})
    found = {
        term: _find_rows(db, f"{_COLUMNS} : ({group})")
        for term, group in zip(asked.terms, groups, strict=True)
    }
    phrase = _find_rows(db, "{title body} : " + kb_query.quote(query))
    every = " OR ".join(f"({group})" for group in groups)
    scores = dict(db.execute(_SCORES, (every,)))
    if facts is None:
        facts = _read(db, list(scores), now)
    plain = query.strip().casefold()
    is_run_on = any(map(is_unspaced, asked.terms))
    for seq, score in scores.items():
        fact = facts.get(seq)
        if fact is None:
            continue
        is_full = seq in phrase or (
            is_run_on and any(plain in text.casefold() for text in (fact.title, fact.text))
        )
        yield Match(fact, is_full, score, tuple(t for t, rows in found.items() if seq in rows))


def _find_rows(db: sqlite3.Connection, expression: str) -> set[int]:
    rows = db.execute("SELECT rowid FROM live_fts WHERE live_fts MATCH ?", (expression,))
    return {int(row[0]) for row in rows}


def _read(db: sqlite3.Connection, rows: list[int], now: float) -> dict[int, Fact]:
    facts: dict[int, Fact] = {}
    for at in range(0, len(rows), _READ_AT_ONCE):
        some = rows[at : at + _READ_AT_ONCE]
        marks = ", ".join("?" * len(some))
        condition = f"s.seq IN ({marks}) AND (s.expires_at IS NULL OR s.expires_at > ?)"
        facts.update((one.seq, one) for one in read_live(db, condition, (*some, now)))
    return facts
