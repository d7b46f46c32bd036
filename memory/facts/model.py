"""A fact, and the records of what was done to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Scope = Literal["session", "project", "user"]
"""How near a fact is: that of a session is nearer than that of the project, the user's is last."""

Category = Literal["observe", "decide", "refine", "correct", "checkpoint", "merge", "import"]
Operation = Literal[
    "add", "replace", "retract", "pin", "unpin", "merge", "import", "expire", "erase"
]

SCOPES: tuple[Scope, ...] = get_args(Scope)
"""The nearest first."""

CATEGORIES: tuple[Category, ...] = get_args(Category)
CONFIDENCES = {"high": 0.95, "medium": 0.7, "low": 0.4}
"""CTXone's words for how sure a fact is."""

MAIN = "main"
DEFAULT_CONTEXT = "general"
BODY_BYTES_MAX = 16 * 1024
TITLE_BYTES_MAX = 200
PATH_BYTES_MAX = 256
SESSION_DAYS = 30
"""Facts of a session expire after so many days, unless a time is given."""


@dataclass(frozen=True, slots=True)
class Author:
    """Who writes: the agent's name, such as "claude_code" or "user", and its session's id."""

    agent: str = "user"
    session: str = ""


@dataclass(frozen=True, slots=True)
class Draft:
    """A fact to be written. Without `path` it is `/memory/CONTEXT/KEY`; without a key, its id.

    `supersedes` names another fact by id or path, which is retracted in the same transaction.
    `ttl_s` are seconds until it expires; None is never, but for a session's.
    """

    text: str
    title: str = ""
    path: str = ""
    key: str = ""
    context: str = DEFAULT_CONTEXT
    tags: tuple[str, ...] = ()
    confidence: float = CONFIDENCES["medium"]
    category: Category = "observe"
    why: str = ""
    source: str = ""
    ttl_s: float | None = None
    scope: Scope = "project"
    supersedes: str = ""
    is_pinned: bool = False


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact as it stands at a path of a branch.

    `id` is "mem-" and 8 characters of base32. `seq` is its last change; `at`, in seconds since the
    epoch like `expires_at`, and the author are of the one that wrote it. Each recall begins with
    what `is_pinned`.
    """

    id: str
    path: str
    title: str
    text: str
    tags: tuple[str, ...]
    scope: Scope
    branch: str
    seq: int
    at: float
    agent: str
    session: str
    category: Category
    why: str
    confidence: float
    source: str
    expires_at: float | None
    is_pinned: bool
    sha256: str


@dataclass(frozen=True, slots=True)
class Change:
    """A line of the ledger: what was done at a path of a branch. `fact_id` is empty where the path
    was retracted; `supersedes` is the id of the fact that stood there, or was replaced by it."""

    seq: int
    branch: str
    path: str
    fact_id: str
    operation: Operation
    at: float
    agent: str
    session: str
    category: Category
    why: str
    confidence: float
    source: str
    expires_at: float | None
    supersedes: str
    is_pinned: bool
    scope: Scope
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Similar:
    """A live fact that says nearly the same: how much of the words they share, from 0 to 1."""

    id: str
    path: str
    text: str
    overlap: float


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a draft. With `is_unchanged` the same text stood there, and nothing was
    written."""

    id: str
    path: str
    seq: int
    is_unchanged: bool = False
    replaced: str = ""
    redactions: int = 0
    similar: tuple[Similar, ...] = ()
