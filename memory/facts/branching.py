"""Branches of facts: created, compared path by path, and merged.

A branch copies nothing: it sees its parent's changes up to its start. A merge is three-way by path,
and complete or not done. The base of a path is its fact at the fork.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from memory.errors import BadInputError
from memory.facts.ledger import append
from memory.facts.model import MAIN, Author, Change, ClosedBranchError, Fact
from memory.facts.reading import find_at, read_facts, read_own, require_branch
from memory.facts.store import FactStore

State = Literal["open", "merged", "dropped"]
STATES: tuple[State, ...] = get_args(State)
NAME_CHARS_MAX = 100
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*")

Sight = tuple[str, int]
"""A branch, and the number of its last change that is seen."""

_NO_END = (1 << 63) - 1
_LIST = """
SELECT b.name, coalesce(b.parent, ''), b.fork_seq, b.state, b.created_at, b.agent,
    (SELECT count(*) FROM change c WHERE c.branch = b.name)
FROM branch b
"""

Status = Literal["added", "removed", "changed"]

Side = Literal["ours", "theirs"]
SIDES: tuple[Side, ...] = get_args(Side)
ALL = "*"
NO_CHOICES: Mapping[str, Side] = {}


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch of facts."""

    name: str
    parent: str  # empty for main
    fork_seq: int  # changes of the parent up to this one are seen
    state: State
    created_at: float
    agent: str
    changes: int  # number of changes made on it


def check_name(name: str) -> str:
    """Return a branch's name.

    Raises:
        BadInputError: it is too long, has a character other than letters, digits and `._/-`, does
            not begin with a letter or digit, or has an empty or dotted part.
    """
    parts = name.split("/")
    is_good = (
        len(name) <= NAME_CHARS_MAX
        and _NAME.fullmatch(name) is not None
        and all(part.strip(".") for part in parts)
        and ".." not in name
    )
    if not is_good:
        raise BadInputError(
            f"invalid branch name {name[:80]!r}",
            f"Use up to {NAME_CHARS_MAX} letters, digits and ._/-, such as try/redis.",
        )
    return name


def create_branch(store: FactStore, name: str, *, parent: str = MAIN, author: Author) -> Branch:
    """Create a branch from the present state of its parent.

    Raises:
        BadInputError: the name is invalid, or was used before.
        UnknownBranchError: the parent does not exist, or was dropped.
    """
    check_name(name)
    agent = store.gate.clean_head(author.agent, NAME_CHARS_MAX)
    if store.gate.clean(name) != name:
        raise BadInputError("the branch name looks like a secret", "Choose another name.")
    with store.database.writing() as db:
        require_branch(db, parent)
        if read_branch(db, parent).state == "dropped":
            raise ClosedBranchError(
                f"branch {parent!r} was dropped", "Create it from an open branch."
            )
        if db.execute("SELECT 1 FROM branch WHERE name = ?", (name,)).fetchone():
            raise BadInputError(f"branch name {name!r} was used before", "Choose another name.")
        db.execute(
            "INSERT INTO branch (name, parent, fork_seq, created_at, agent)"
            " VALUES (?, ?, (SELECT coalesce(max(seq), 0) FROM change), ?, ?)",
            (name, parent, store.clock(), agent),
        )
        return read_branch(db, name)


def read_branch(db: sqlite3.Connection, name: str) -> Branch:
    """Read one branch.

    Raises:
        UnknownBranchError: it does not exist.
    """
    require_branch(db, name)
    return Branch(*db.execute(f"{_LIST} WHERE b.name = ?", (name,)).fetchone())


def list_branches(store: FactStore) -> list[Branch]:
    """List main, then all other branches by time of creation."""
    with store.database.reading() as db:
        return read_branches(db)


def read_branches(db: sqlite3.Connection) -> list[Branch]:
    """Read what `list_branches` lists."""
    rows = db.execute(f"{_LIST} ORDER BY b.parent IS NOT NULL, b.created_at, b.name")
    return [Branch(*row) for row in rows]


def drop_branch(store: FactStore, name: str, author: Author) -> None:
    """Drop a branch: it accepts no more writes; its history stays.

    Raises:
        BadInputError: it is main.
        UnknownBranchError: it does not exist, or was merged or dropped before.
    """
    del author  # every writer may drop it; the ledger has no row without a path
    if name == MAIN:
        raise BadInputError("branch 'main' cannot be dropped", "Name another branch.")
    with store.database.writing() as db:
        require_branch(db, name, writes=True)
        set_state(db, name, "dropped")


def set_state(db: sqlite3.Connection, name: str, state: State) -> None:
    """Set the state of a branch."""
    db.execute("UPDATE branch SET state = ? WHERE name = ?", (state, name))


def read_lineage(db: sqlite3.Connection, name: str) -> tuple[Sight, ...]:
    """Read which changes a branch sees: its own first, then those of its ancestors."""
    found, upto = list[Sight](), _NO_END
    while name:
        found.append((name, upto))
        parent, fork_seq = db.execute(
            "SELECT coalesce(parent, ''), fork_seq FROM branch WHERE name = ?", (name,)
        ).fetchone()
        name, upto = parent, min(upto, fork_seq)
    return tuple(found)


def find_fork(ours: tuple[Sight, ...], theirs: tuple[Sight, ...]) -> tuple[Sight, ...]:
    """Find the common base of two branches: the changes that both see of their nearest common
    branch, and of that branch's ancestors."""
    ends = dict(ours)
    first = next(at for at, (branch, _) in enumerate(theirs) if branch in ends)
    return tuple((branch, min(upto, ends[branch])) for branch, upto in theirs[first:])


Difference = tuple[str, Fact | None, Fact | None]
"""A path where two branches differ, and its fact on each; None if there is no fact."""

Conflict = tuple[str, Mapping[str, Fact | None]]
"""A path that both branches changed, with its fact by side; None if there is no fact. `ours` is the
branch that receives the merge, `theirs` the other, `base` the fork."""


def find_status(old: Fact | None, new: Fact | None) -> Status:
    """Return how a path changed from one branch to another."""
    return "changed" if old and new else "removed" if old else "added"


def compare_branches(store: FactStore, a: str, b: str) -> tuple[Difference, ...]:
    """Compare the facts of two branches, without expired ones; from `a` to `b`, by path.

    Raises:
        UnknownBranchError: one of them does not exist.
    """
    now = store.clock()
    with store.database.reading() as db:
        for name in (a, b):
            require_branch(db, name)
        old = {fact.path: fact for fact in read_facts(db, a, now=now)}
        new = {fact.path: fact for fact in read_facts(db, b, now=now)}
    found = ((path, old.get(path), new.get(path)) for path in sorted({**old, **new}))
    return tuple(
        (path, before, after) for path, before, after in found if not is_same(before, after)
    )


def is_same(one: Fact | None, other: Fact | None) -> bool:
    """Return whether two facts have the same text and the same effect on recall."""
    return is_alike(one, other) and (
        one is None
        or other is None
        or (one.confidence, one.expires_at) == (other.confidence, other.expires_at)
    )


def is_alike(one: Fact | None, other: Fact | None) -> bool:
    """Return whether two facts have the same content, whatever their confidence and expiry."""
    if one is None or other is None:
        return one is other
    return _content(one) == _content(other)


def _content(fact: Fact) -> tuple[object, ...]:
    return (fact.sha256, fact.tags, fact.scope, fact.is_pinned)


def read_seen(db: sqlite3.Connection, sights: Sequence[Sight]) -> dict[str, Fact]:
    """Read the fact at each path as these branches see it, expired or not. The first branch that
    changed a path decides."""
    seen: dict[str, Fact | None] = {}
    for branch, upto in sights:
        for path, fact in read_own(db, branch, upto):
            seen.setdefault(path, fact)
    return {path: fact for path, fact in seen.items() if fact}


def merge_branch(
    store: FactStore,
    branch: str,
    *,
    into: str = MAIN,
    take: Mapping[str, Side] = NO_CHOICES,
    author: Author,
) -> tuple[tuple[str, ...], tuple[Conflict, ...]]:
    """Merge a branch; it is then closed, unless `into` was created from it. `take` names the side
    whose value a path in conflict gets; "*" stands for all others. Return the changed paths, and
    the unresolved conflicts: if there are any, nothing is written.

    Raises:
        BadInputError: both are the same branch, or `take` has an unknown side or path.
        UnknownBranchError: one of them does not exist, or was merged or dropped before.
    """
    _check_sides(branch, into, take)
    with store.database.writing() as db:
        for name in (branch, into):
            require_branch(db, name, writes=True)
        ours, theirs = read_lineage(db, into), read_lineage(db, branch)
        taken, conflicts = _choose(db, ours, theirs)
        unknown = sorted(take.keys() - {ALL} - dict(conflicts).keys())
        if unknown:
            raise BadInputError(f"no conflict at {unknown[0][:200]!r}", "Name a path in conflict.")
        left = tuple(one for one in conflicts if _side(take, one[0]) is None)
        if left:
            return (), left
        taken += [path for path, _ in conflicts if _side(take, path) == "theirs"]
        for path in sorted(taken):
            _take(db, theirs, path, into=into, at=store.clock(), author=author)
        if branch not in dict(ours):
            set_state(db, branch, "merged")
    return tuple(sorted(taken)), ()


def _check_sides(branch: str, into: str, take: Mapping[str, Side]) -> None:
    if branch == into:
        raise BadInputError(
            f"cannot merge {branch[:80]!r} into itself", "Name two different branches."
        )
    for path, side in take.items():
        if side not in SIDES:
            raise BadInputError(
                f"unknown side {str(side)[:40]!r}",
                f"Use {path}=ours or {path}=theirs." if path != ALL else "Use ours or theirs.",
            )


def _side(take: Mapping[str, Side], path: str) -> Side | None:
    return take.get(path, take.get(ALL))


def _choose(
    db: sqlite3.Connection, into: tuple[Sight, ...], branch: tuple[Sight, ...]
) -> tuple[list[str], list[Conflict]]:
    """Return the paths whose value is theirs, and those in conflict. A change of one side only, or
    the same change on both, is taken. A side that continued from the other's value, as after an
    earlier merge, is not in conflict either."""
    taken, conflicts = list[str](), list[Conflict]()
    seen = [read_seen(db, sights) for sights in (find_fork(into, branch), into, branch)]
    for path in sorted({path for values in seen for path in values}):
        base, ours, theirs = (values.get(path) for values in seen)
        if is_same(theirs, base) or (is_alike(theirs, ours) and not is_same(ours, base)):
            continue
        if is_same(ours, base) or _had(db, branch, base, ours):
            taken.append(path)
        elif not _had(db, into, base, theirs):
            conflicts.append((path, {"base": base, "ours": ours, "theirs": theirs}))
    return taken, conflicts


def _had(
    db: sqlite3.Connection, sights: tuple[Sight, ...], base: Fact | None, fact: Fact | None
) -> bool:
    """Return whether branches had this fact at its path since the base, and continued from it."""
    if fact is None or (base is not None and base.id == fact.id):
        return False
    row = "SELECT 1 FROM change c JOIN fact f ON f.id = c.fact_id WHERE c.branch = ? AND c.path = ?"
    return any(
        db.execute(
            f"{row} AND c.seq <= ? AND f.uid = ? AND c.pinned = ?",
            (branch, fact.path, upto, fact.id, int(fact.is_pinned)),
        ).fetchone()
        for branch, upto in sights
    )


def _take(  # noqa: PLR0913 - what a row of the ledger says
    db: sqlite3.Connection,
    branch: tuple[Sight, ...],
    path: str,
    *,
    into: str,
    at: float,
    author: Author,
) -> None:
    """Write their value to our path; the row names its first author."""
    ours, theirs = find_at(db, into, path), find_at(db, branch[0][0], path)
    standing = theirs or ours
    assert standing is not None  # else both sides were alike
    append(
        db,
        Change(
            branch=into,
            path=path,
            fact_id=theirs.id if theirs else "",
            operation="merge",
            at=at,
            agent=author.agent,
            session=author.session,
            scope=standing.scope,
            category="merge",
            why=theirs.why if theirs else "",
            confidence=standing.confidence,
            source=_first_author(db, branch, path),
            expires_at=theirs.expires_at if theirs else None,
            supersedes=ours.id if ours else "",
            is_pinned=theirs is not None and theirs.is_pinned,
        ),
    )


def _first_author(db: sqlite3.Connection, sights: tuple[Sight, ...], path: str) -> str:
    """Return the author of the fact at a path, as AGENT or AGENT:SESSION; of a merged fact the
    author before the merge."""
    for branch, upto in sights:
        row = db.execute(
            "SELECT operation, source, agent, session FROM change"
            " WHERE branch = ? AND path = ? AND seq <= ? ORDER BY seq DESC LIMIT 1",
            (branch, path, upto),
        ).fetchone()
        if row:
            operation, source, agent, session = map(str, row)
            if operation in ("merge", "import") and source:
                return source
            return f"{agent}:{session}" if session else agent
    return ""
