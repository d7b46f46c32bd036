"""Merging a branch into another, three-way by path; wholly or not at all.

The base of a path is what stood there when the two parted. What one side changed, or both alike, is
taken. Where the one went on from what the other has, as after an earlier merge, that is no conflict
either.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from memory.errors import BadInputError
from memory.facts.branching import Sight, find_fork, read_lineage, set_state
from memory.facts.comparing import is_alike, is_same, read_seen
from memory.facts.ledger import Entry, append
from memory.facts.model import MAIN, Author, Fact
from memory.facts.reading import require_branch
from memory.facts.store import FactStore
from memory.facts.writing import find_row

Side = Literal["ours", "theirs"]
SIDES: tuple[Side, ...] = get_args(Side)
ALL = "*"
NO_CHOICES: Mapping[str, Side] = {}


@dataclass(frozen=True, slots=True)
class Conflict:
    """A path that both changed, and not alike. `ours` is what the branch that is merged into has;
    None is nothing."""

    path: str
    base: Fact | None
    ours: Fact | None
    theirs: Fact | None


@dataclass(frozen=True, slots=True)
class Merged:
    """The paths that were taken; with conflicts none was, and nothing was written."""

    branch: str
    into: str
    merged: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()


@dataclass(frozen=True, slots=True)
class _Sides:
    """What the two branches see, and what each has at its paths."""

    into: tuple[Sight, ...]
    branch: tuple[Sight, ...]
    base: Mapping[str, Fact]
    ours: Mapping[str, Fact]
    theirs: Mapping[str, Fact]


def merge_branch(
    store: FactStore,
    branch: str,
    *,
    into: str = MAIN,
    take: Mapping[str, Side] = NO_CHOICES,
    author: Author,
) -> Merged:
    """Merge a branch; it takes no more writes then, unless `into` began from it. `take` says whose
    value a path in conflict gets; "*" is all that it does not name.

    Raises:
        BadInputError: both are the same branch, or `take` names no side, or no path in conflict.
        UnknownBranchError: one of them is not there, or was merged or dropped before.
    """
    _check(branch, into, take)
    with store.database.writing() as db:
        for name in (branch, into):
            require_branch(db, name, writes=True)
        sides = _read_sides(db, branch, into)
        taken, conflicts = _choose(db, sides)
        unknown = sorted(take.keys() - {ALL} - {one.path for one in conflicts})
        if unknown:
            raise BadInputError(
                f"there is no conflict at {unknown[0][:200]!r}", "Name a path of a conflict."
            )
        left = tuple(one for one in conflicts if _side(take, one.path) is None)
        if left:
            return Merged(branch, into, conflicts=left)
        taken += [one.path for one in conflicts if _side(take, one.path) == "theirs"]
        for path in sorted(taken):
            _take(db, sides, path, into=into, at=store.clock(), author=author)
        if branch not in {sight.branch for sight in sides.into}:
            set_state(db, branch, "merged")
    return Merged(branch, into, tuple(sorted(taken)))


def _check(branch: str, into: str, take: Mapping[str, Side]) -> None:
    if branch == into:
        raise BadInputError(f"{branch[:80]!r} is merged into itself", "Name two branches.")
    for path, side in take.items():
        if side not in SIDES:
            raise BadInputError(
                f"{str(side)[:40]!r} is no side of a conflict",
                f"Say {path}=ours, or {path}=theirs." if path != ALL else "Say ours or theirs.",
            )


def _side(take: Mapping[str, Side], path: str) -> Side | None:
    return take.get(path, take.get(ALL))


def _read_sides(db: sqlite3.Connection, branch: str, into: str) -> _Sides:
    ours, theirs = read_lineage(db, into), read_lineage(db, branch)
    base = read_seen(db, find_fork(ours, theirs))
    return _Sides(ours, theirs, base, read_seen(db, ours), read_seen(db, theirs))


def _choose(db: sqlite3.Connection, sides: _Sides) -> tuple[list[str], list[Conflict]]:
    """Return the paths whose value is theirs, and those that both changed."""
    taken, conflicts = list[str](), list[Conflict]()
    for path in sorted(sides.base.keys() | sides.ours.keys() | sides.theirs.keys()):
        base, ours, theirs = (values.get(path) for values in (sides.base, sides.ours, sides.theirs))
        if is_same(theirs, base) or (is_alike(theirs, ours) and not is_same(ours, base)):
            continue
        if is_same(ours, base) or _had(db, sides.branch, base, ours):
            taken.append(path)
        elif not _had(db, sides.into, base, theirs):
            conflicts.append(Conflict(path, base, ours, theirs))
    return taken, conflicts


def _had(
    db: sqlite3.Connection, sights: tuple[Sight, ...], base: Fact | None, fact: Fact | None
) -> bool:
    """Tell whether branches had just this fact at its path since the base, and went on from it."""
    if fact is None or (base is not None and base.id == fact.id):
        return False
    row = "SELECT 1 FROM change c JOIN fact f ON f.id = c.fact_id WHERE c.branch = ? AND c.path = ?"
    return any(
        db.execute(
            f"{row} AND c.seq <= ? AND f.uid = ? AND c.pinned = ?",
            (sight.branch, fact.path, sight.upto, fact.id, int(fact.is_pinned)),
        ).fetchone()
        for sight in sights
    )


def _take(  # noqa: PLR0913 - what a row of the ledger says
    db: sqlite3.Connection, sides: _Sides, path: str, *, into: str, at: float, author: Author
) -> None:
    """Put their value at a path of ours; the row says who wrote it first."""
    ours, theirs = sides.ours.get(path), sides.theirs.get(path)
    standing = theirs or ours
    assert standing is not None  # else the two were alike
    append(
        db,
        Entry(
            branch=into,
            path=path,
            fact_id=find_row(db, theirs.id) if theirs else None,
            operation="merge",
            at=at,
            author=author,
            scope=standing.scope,
            category="merge",
            why=theirs.why if theirs else "",
            confidence=standing.confidence,
            source=_first_author(db, sides.branch, path),
            expires_at=theirs.expires_at if theirs else None,
            supersedes=find_row(db, ours.id) if ours else None,
            is_pinned=theirs is not None and theirs.is_pinned,
        ),
    )


def _first_author(db: sqlite3.Connection, sights: tuple[Sight, ...], path: str) -> str:
    """Return who wrote what branches have at a path, as AGENT or AGENT:SESSION; of a merged one
    whoever wrote it before it was merged."""
    for sight in sights:
        row = db.execute(
            "SELECT operation, source, agent, session FROM change"
            " WHERE branch = ? AND path = ? AND seq <= ? ORDER BY seq DESC LIMIT 1",
            (sight.branch, path, sight.upto),
        ).fetchone()
        if row:
            operation, source, agent, session = map(str, row)
            if operation in ("merge", "import") and source:
                return source
            return f"{agent}:{session}" if session else agent
    return ""
