"""Comparing two branches path by path."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from memory.facts.branching import Sight
from memory.facts.model import Fact
from memory.facts.reading import read_facts, read_own, require_branch
from memory.facts.store import FactStore

Status = Literal["added", "removed", "changed"]


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
        for path, fact in read_own(db, sight.branch, sight.upto):
            seen.setdefault(path, fact)
    return {path: fact for path, fact in seen.items() if fact}
