"""Facts: their paths, origins, changes, and errors.

Paths have CTXone's form: `/memory/pinned/SOURCE/SLUG`, `/memory/primed/SOURCE/SLUG`,
`/memory/CONTEXT/KEY`, `/sessions/ID/{summary,decisions,details}`. The `source` of an imported fact
names its original author and time: "README.md; by codex:s1 at 2026-05-28T20:26:40.000Z". So the
ledger names the importer, and an export of the fact equals the original.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal, get_args

from memory.errors import BadInputError, MemoryRoomError

LATEST_AT = 253_402_300_799.0
"""The last second of the year 9999."""

_ESCAPED = {"%": "%25", ":": "%3A", ";": "%3B", " ": "%20"}
_PLAIN = {escaped: mark for mark, escaped in _ESCAPED.items()}
_MARK = re.compile("[%:; ]")
_ESCAPE = re.compile("|".join(_PLAIN))
_ORIGIN = re.compile(
    r"(?:(?P<source>.*); )?by (?P<agent>[^:; ]+)(?::(?P<session>[^:; ]+))?"
    r"(?: at (?P<at>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z))?",
    re.DOTALL,
)

Scope = Literal["session", "project", "user"]
"""Scopes of facts. A session's is the nearest, then the project's, then the user's."""

Category = Literal["observe", "decide", "refine", "correct", "checkpoint", "merge", "import"]
Operation = Literal[
    "add", "replace", "retract", "pin", "unpin", "merge", "import", "expire", "erase"
]

SCOPES: tuple[Scope, ...] = get_args(Scope)
"""The nearest scope first."""

CATEGORIES: tuple[Category, ...] = get_args(Category)
CONFIDENCES = {"high": 0.95, "medium": 0.7, "low": 0.4}
"""CTXone's names for levels of confidence."""

MAIN = "main"
DEFAULT_CONTEXT = "general"
BODY_BYTES_MAX = 16 * 1024
TITLE_BYTES_MAX = 200
PATH_BYTES_MAX = 256
SESSION_DAYS = 30
"""Days until facts of a session expire, unless a time to live is given."""

PINNED = "/memory/pinned"
PRIMED = "/memory/primed"
_ID = re.compile(r"mem-[a-z2-7]{8}")
ROOTS = ("/memory/", "/sessions/")
_SPACE = re.compile(r"\s")
_DROPPED = re.compile(r"[^\w\- ]+")


@dataclass(frozen=True, slots=True)
class Author:
    """The author of a fact, here or elsewhere.

    Attributes:
        agent: its name, such as "claude_code" or "user"; empty if unknown.
        session: the id of its session.
        source: the fact's own source, if it was imported.
        at: time of writing elsewhere, in whole milliseconds; None if unknown.
    """

    agent: str = "user"
    session: str = ""
    source: str = ""
    at: float | None = None


NOBODY = Author("")


def write_origin(origin: Author) -> str:
    """Return the `source` of an imported fact."""
    if not origin.agent:
        return origin.source
    name = ":".join(_MARK.sub(lambda mark: _ESCAPED[mark[0]], one)
                    for one in (origin.agent, origin.session) if one)  # fmt: skip
    by = f"by {name}" if origin.at is None else f"by {name} at {_write_time(origin.at)}"
    return f"{origin.source}; {by}" if origin.source else by


def read_origin(source: str) -> Author:
    """Undo `write_origin`."""
    found = _ORIGIN.fullmatch(source)
    if found is None:
        return replace(NOBODY, source=source)
    try:
        at = datetime.fromisoformat(found["at"]).timestamp() if found["at"] else None
    except ValueError:  # such as a month 13
        return replace(NOBODY, source=source)
    agent, session = (
        _ESCAPE.sub(lambda mark: _PLAIN[mark[0]], one or "")
        for one in (found["agent"], found["session"])
    )
    return Author(agent, session, found["source"] or "", at)


def find_own_source(source: str) -> str:
    """Return a fact's own source, imported or not."""
    return read_origin(source).source


def _write_time(at: float) -> str:
    whole, thousandths = divmod(round(at * 1000), 1000)
    day = datetime.fromtimestamp(whole, UTC).replace(tzinfo=None)
    return f"{day.isoformat()}.{thousandths:03}Z"


class UnknownFactError(MemoryRoomError):
    """Error: no live fact has this id or path."""


class UnknownBranchError(MemoryRoomError):
    """Error: the branch does not exist, or is closed."""


class ClosedBranchError(UnknownBranchError):
    """Error: the branch was merged or dropped, and accepts no more writes."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A fact to be written."""

    text: str
    title: str = ""
    path: str = ""  # `/memory/CONTEXT/KEY` if empty
    key: str = ""  # the fact's id if empty
    context: str = DEFAULT_CONTEXT
    tags: tuple[str, ...] = ()
    confidence: float = CONFIDENCES["medium"]
    category: Category = "observe"
    why: str = ""
    source: str = ""
    ttl_s: float | None = None  # seconds until it expires; None: never, or a session's default
    scope: Scope = "project"
    supersedes: str = ""  # id or path of another fact to retract in the same transaction
    is_pinned: bool = False


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact at a path of a branch. Its author made the change that wrote it."""

    id: str  # "mem-" and 8 characters of base32
    path: str
    title: str
    text: str
    tags: tuple[str, ...]
    scope: Scope
    branch: str
    seq: int  # its last change
    at: float  # time of the change that wrote it, in seconds since the epoch
    agent: str
    session: str
    category: Category
    why: str
    confidence: float
    source: str
    expires_at: float | None  # in seconds since the epoch
    is_pinned: bool  # whether each recall begins with it
    sha256: str


@dataclass(frozen=True, slots=True)
class Change:
    """A line of the ledger: a change at a path of a branch.

    Attributes:
        fact_id: the id of the new fact at the path; or empty.
        supersedes: the id of the fact before, or of one that the new fact replaced.
        seq: its number; 0 before it is added.
        title, text: those of the fact.
    """

    branch: str
    path: str
    fact_id: str
    operation: Operation
    at: float
    agent: str
    session: str
    scope: Scope
    category: Category = "observe"
    why: str = ""
    confidence: float = CONFIDENCES["medium"]
    source: str = ""
    expires_at: float | None = None
    supersedes: str = ""
    is_pinned: bool = False
    seq: int = 0
    title: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Written:
    """The result of writing a draft."""

    id: str
    path: str
    seq: int
    is_unchanged: bool = False  # whether the same text was there, so that nothing was written
    replaced: str = ""
    redactions: int = 0
    similar: tuple[tuple[Fact, float], ...] = ()  # live facts, with the share of common words


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of importing the facts of a file.

    Attributes:
        form: the form of an import; empty for a primed file.
        added, changed, same, removed: their paths.
        left_out: skipped parts, with reasons.
        not_pinned: paths that the file pins, if pins are not imported.
    """

    form: str = ""
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    same: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    not_pinned: tuple[str, ...] = ()
    redactions: int = 0


def check_path(path: str) -> str:
    """Return a path in Unicode's composed form.

    Raises:
        BadInputError: it does not begin with /memory/ or /sessions/, is too long, has an empty,
            `.` or `..` part, or a control character.
    """
    plain = unicodedata.normalize("NFC", path)
    parts = plain.split("/")[1:]
    problem = ""
    if not plain.startswith(ROOTS):
        problem = "it must begin with /memory/ or /sessions/"
    elif len(plain.encode("utf-8", "surrogatepass")) > PATH_BYTES_MAX:
        problem = f"it has more than {PATH_BYTES_MAX} bytes"
    elif any(part.strip() in ("", ".", "..") for part in parts):
        problem = "a part of it is empty, . or .."
    elif any(unicodedata.category(mark)[0] == "C" for mark in plain):
        problem = "it has a control character"
    if problem:
        raise BadInputError(
            f"invalid path {path[:80]!r}: {problem}",
            "Use a path such as /memory/general/deploy.",
        )
    return plain


def make_path(context: str, key: str) -> str:
    """Return the path of a key in a context.

    Raises:
        BadInputError: they do not make a valid path.
    """
    return check_path(f"/memory/{context.strip().strip('/')}/{key.strip().strip('/')}")


def is_id(text: str) -> bool:
    """Return whether a text has the form of a fact's id."""
    return _ID.fullmatch(text) is not None


def name_fact(wanted: object, context: str = DEFAULT_CONTEXT) -> str:
    """Return the id or the path named by an id, a path, or a key in a context.

    Raises:
        BadInputError: the name has another form.
    """
    if not isinstance(wanted, str) or not wanted.strip():
        raise BadInputError("no fact is named", "Give an id, a path or a key.")
    name = wanted.strip()
    if is_id(name):
        return name
    return check_path(name) if name.startswith("/") else make_path(context, name)


def make_slug(title: str) -> str:
    """Return a heading's slug like GitHub's: lower case, each blank a dash, no punctuation."""
    plain = unicodedata.normalize("NFC", title).strip().lower()
    slug = _SPACE.sub("-", _DROPPED.sub("", plain))[:80]
    return slug if slug.strip("-") else "section"
