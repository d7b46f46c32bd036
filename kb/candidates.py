"""Which words of a query choose the chunks to be scored, so that common ones cost little.

Scoring is what a search spends its time on, a hundred times what finding the chunks costs. The
rarest words together choose about as many chunks as are worth it; the others count in those chunks
in full. A chunk that has none of the rarer words could hardly have come first.
"""

# ruff: noqa: S608 - the name of a table fixed in this package is put into a statement

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from kb.query import Corrections, Query

CANDIDATES = 800
CANDIDATES_SHARE = 25
"""How many matches the choosing words may have together: so many, or one in so many chunks where
that is more. On `benchmarks.kb_quality` half of it
costs 0.01 of mean reciprocal rank, more of it gains nothing."""

ENOUGH = 20
"""Words go on choosing, however common they are, until there are as many chunks to rank."""


@dataclass(frozen=True, slots=True)
class Expressions:
    """A query in full-text syntax: for the score of its words, and for that of neighbouring ones
    near each other, where there are any. `choosing` are the words that choose the chunks; in
    `words` every one of them is counted `times` over."""

    words: str
    together: str | None
    choosing: tuple[str, ...]
    times: int = 1


def expressions(
    db: sqlite3.Connection, table: str, query: Query, corrections: Corrections, limit: int
) -> Expressions | None:
    """What to ask the full-text table for the best `limit` chunks; None where it has none of the
    words."""
    most = max(CANDIDATES, _chunks(db) // CANDIDATES_SHARE)
    groups = query.groups(corrections)
    counted = sorted((_matches(db, table, group, most + 1), at) for at, group in enumerate(groups))
    counted = [(count, at) for count, at in counted if count]
    if not counted:
        return None
    total = 0
    choosing: list[int] = []
    for count, at in counted:
        if total >= max(ENOUGH, limit) and total + count > most:
            break
        total += count
        choosing.append(at)
    others = [groups[at] for _, at in counted[len(choosing) :]]
    chosen = [groups[at] for at in sorted(choosing)]
    together = query.together(corrections)
    terms = tuple(query.terms[at] for at in sorted(choosing))
    if not others:
        return Expressions(" OR ".join(chosen), together, terms)
    return Expressions(_choose_by(chosen, others), together, terms, times=2)


def _choose_by(choosing: Sequence[str], others: Sequence[str]) -> str:
    """Any of the choosing words, scored by all: the index looks for the others in chunks that the
    first part found alone. All count double, the former because they stand in both parts, the
    latter because they stand in the second part twice."""
    first = " OR ".join(choosing)
    second = " OR ".join((*choosing, *others, *others))
    return f"({first}) AND ({second})"


def _chunks(db: sqlite3.Connection) -> int:
    """About how many there are."""
    return int(db.execute("SELECT coalesce(max(id), 0) FROM chunk").fetchone()[0])


def _matches(db: sqlite3.Connection, table: str, expression: str, limit: int) -> int:
    """In how many chunks an expression is found, as far as `limit`."""
    row = db.execute(
        f"SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {table} MATCH ? LIMIT ?)",
        (expression, limit),
    ).fetchone()
    return int(row[0])
