"""Comparing two branches path by path."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from memory.facts.branching import Sight
from memory.facts.model import Fact
from memory.facts.reading import read_facts, require_branch
from memory.facts.store import FactStore

Status = Literal["added", "removed", "changed"]

_STANDING = """
SELECT f.uid, c.path, f.title, f.body, f.tags, c.scope, c.branch, c.seq, c.at, c.agent, c.session,
    c.category, c.why, c.confidence, c.source, c.expires_at, c.pinned, f.sha256
FROM change c LEFT JOIN fact f ON f.id = c.fact_id
WHERE c.seq IN (SELECT max(seq) FROM change WHERE branch = ? AND seq <= ? GROUP BY path)
"""


@dataclass(frozen=True, slots=True)
class PathDifference:
    """A path where two branches differ: `a` and `b` are what stands there on each."""

    path: str
    status: Status
    a: Fact | None
    b: Fact | None


def compare_branches(store: FactStore, a: str, b: str) -> tuple[PathDifference, ...]:
    """Compare what stands on two branches, expired facts left out; from `a` to `b`, by path.

    Raises:
        UnknownBranchError: one of them is not there.
    """
    now = store.clock()
    with store.database.reading() as db:
        for name in (a, b):
            require_branch(db, name)
        old = {fact.path: fact for fact in read_facts(db, a, now=now)}
        new = {fact.path: fact for fact in read_facts(db, b, now=now)}
    found = list[PathDifference]()
    for path in sorted(old.keys() | new.keys()):
        before, after = old.get(path), new.get(path)
        if not is_same(before, after):
            status: Status = "changed" if before and after else "removed" if before else "added"
            found.append(PathDifference(path, status, before, after))
    return tuple(found)


def is_same(one: Fact | None, other: Fact | None) -> bool:
    """Tell whether the same stands there: the text and all that recall makes of it."""
    return is_alike(one, other) and (
        one is None
        or other is None
        or (one.confidence, one.expires_at) == (other.confidence, other.expires_at)
    )


def is_alike(one: Fact | None, other: Fact | None) -> bool:
    """Tell whether two facts say the same, however sure they are and however long they hold."""
    if one is None or other is None:
        return one is other
    return _content(one) == _content(other)


def _content(fact: Fact) -> tuple[object, ...]:
    return (fact.sha256, fact.tags, fact.scope, fact.is_pinned)


def read_seen(db: sqlite3.Connection, sights: Sequence[Sight]) -> dict[str, Fact]:
    """Read what stands at each path as these branches see it, expired or not: the first one that
    has a change at a path says what stands there."""
    seen: dict[str, Fact | None] = {}
    for sight in sights:
        for row in db.execute(_STANDING, (sight.branch, sight.upto)):
            seen.setdefault(row[1], _make_fact(row))
    return {path: fact for path, fact in seen.items() if fact}


def _make_fact(row: tuple[Any, ...]) -> Fact | None:
    """Make a fact of a row; None where nothing stands there any more."""
    if row[0] is None:
        return None
    tags = tuple(json.loads(row[4]))
    values: list[Any] = [*row[:4], tags, *row[5:16], bool(row[16]), row[17].hex()]
    return Fact(*values)
