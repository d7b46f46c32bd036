"""Branches of facts: a branch copies nothing, it sees its parent's changes up to where it began."""

from __future__ import annotations

import re
import sqlite3
from dataclasses import dataclass
from typing import Literal, get_args

from memory.errors import BadInputError
from memory.facts.errors import ClosedBranchError
from memory.facts.model import MAIN, Author
from memory.facts.reading import require_branch
from memory.facts.store import FactStore

State = Literal["open", "merged", "dropped"]
STATES: tuple[State, ...] = get_args(State)
NAME_CHARS_MAX = 100
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*")


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch, and how many changes were made on it. `parent` is empty for main; of the parent's
    changes those up to `fork_seq` are seen."""

    name: str
    parent: str
    fork_seq: int
    state: State
    created_at: float
    agent: str
    changes: int


@dataclass(frozen=True, slots=True)
class Sight:
    """A branch whose changes up to the number `upto` are seen."""

    branch: str
    upto: int


_NO_END = (1 << 63) - 1
_LIST = """
SELECT b.name, coalesce(b.parent, ''), b.fork_seq, b.state, b.created_at, b.agent,
    (SELECT count(*) FROM change c WHERE c.branch = b.name)
FROM branch b
"""


def check_name(name: str) -> str:
    """Return a branch's name.

    Raises:
        BadInputError: it is too long, has another character than letters, digits and `._/-`, does
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
            f"{name[:80]!r} is no name of a branch",
            f"Give at most {NAME_CHARS_MAX} letters, digits and ._/-, such as try/redis.",
        )
    return name


def create_branch(store: FactStore, name: str, *, parent: str = MAIN, author: Author) -> Branch:
    """Begin a branch at what its parent is now.

    Raises:
        BadInputError: the name is none, or was taken before.
        UnknownBranchError: the parent is not there, or was dropped.
    """
    check_name(name)
    agent = store.gate.clean_head(author.agent, NAME_CHARS_MAX)
    if store.gate.clean(name) != name:
        raise BadInputError("the name of the branch is a secret", "Choose another name.")
    with store.database.writing() as db:
        require_branch(db, parent)
        if read_branch(db, parent).state == "dropped":
            raise ClosedBranchError(
                f"the branch {parent!r} is dropped", "Begin from one that is not."
            )
        if db.execute("SELECT 1 FROM branch WHERE name = ?", (name,)).fetchone():
            raise BadInputError(f"there was a branch {name!r} before", "Choose another name.")
        db.execute(
            "INSERT INTO branch (name, parent, fork_seq, created_at, agent)"
            " VALUES (?, ?, (SELECT coalesce(max(seq), 0) FROM change), ?, ?)",
            (name, parent, store.clock(), agent),
        )
        return read_branch(db, name)


def read_branch(db: sqlite3.Connection, name: str) -> Branch:
    """Read one branch.

    Raises:
        UnknownBranchError: it is not there.
    """
    require_branch(db, name)
    return Branch(*db.execute(f"{_LIST} WHERE b.name = ?", (name,)).fetchone())


def list_branches(store: FactStore) -> list[Branch]:
    """List main, then all others by the time when they began."""
    with store.database.reading() as db:
        return read_branches(db)


def read_branches(db: sqlite3.Connection) -> list[Branch]:
    """Read what `list_branches` lists."""
    rows = db.execute(f"{_LIST} ORDER BY b.parent IS NOT NULL, b.created_at, b.name")
    return [Branch(*row) for row in rows]


def drop_branch(store: FactStore, name: str, author: Author) -> None:
    """Give a branch up: it takes no more writes; its history stays.

    Raises:
        BadInputError: it is main.
        UnknownBranchError: it is not there, or was merged or dropped before.
    """
    del author  # whoever may write may drop; the ledger has no row without a path
    if name == MAIN:
        raise BadInputError("the branch 'main' cannot be dropped", "Name another branch.")
    with store.database.writing() as db:
        require_branch(db, name, writes=True)
        set_state(db, name, "dropped")


def set_state(db: sqlite3.Connection, name: str, state: State) -> None:
    """Set what became of a branch."""
    db.execute("UPDATE branch SET state = ? WHERE name = ?", (state, name))


def read_lineage(db: sqlite3.Connection, name: str) -> tuple[Sight, ...]:
    """Read what a branch sees: its own changes first, then those of the branches before it."""
    found, upto = list[Sight](), _NO_END
    while name:
        found.append(Sight(name, upto))
        parent, fork_seq = db.execute(
            "SELECT coalesce(parent, ''), fork_seq FROM branch WHERE name = ?", (name,)
        ).fetchone()
        name, upto = parent, min(upto, fork_seq)
    return tuple(found)


def find_fork(ours: tuple[Sight, ...], theirs: tuple[Sight, ...]) -> tuple[Sight, ...]:
    """Find what two branches both saw when they parted: of the nearest branch that both see the
    changes up to there, and what that branch saw before."""
    ends = {sight.branch: sight.upto for sight in ours}
    first = next(at for at, sight in enumerate(theirs) if sight.branch in ends)
    return tuple(
        Sight(sight.branch, min(sight.upto, ends[sight.branch])) for sight in theirs[first:]
    )
