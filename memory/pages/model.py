"""Pages: their names and fields, commits, what differs between two versions, what can be wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from memory.errors import BadInputError, MemoryRoomError

PageType = Literal["concept", "entity", "source", "analysis"]
PAGE_TYPES: tuple[PageType, ...] = get_args(PageType)
KNOWLEDGE: tuple[PageType, ...] = ("concept", "analysis")
"""The types that are distilled from a session: a push of them asks for its source."""

SCHEMA = "ctx.page.v1"
FOLDERS: Mapping[PageType, str] = {
    "source": "raw/sessions",
    "concept": "wiki/concepts",
    "entity": "wiki/entities",
    "analysis": "wiki/analyses",
}
"""Where pages of each type lie, below `.contexo/` and in the repository alike."""

DRAFTS_FOLDER = ".contexo"
PAGE_BYTES_MAX = 1 << 20
FRONTMATTER_BYTES_MAX = 64 * 1024
SLUG_CHARS_MAX = 200

Status = Literal["unchanged", "added", "removed", "modified", "renamed"]

_SLUG = re.compile(rf"[A-Za-z0-9_][A-Za-z0-9._-]{{0,{SLUG_CHARS_MAX - 1}}}")
_SUFFIX = ".md"


class GitError(MemoryRoomError):
    """git is missing, failed, printed too much or took too long."""


class MovedError(MemoryRoomError):
    """The branch has moved since its head was read; nothing was committed."""


Problem = tuple[str, BadInputError]
"""The path of a page, and what is wrong with it."""


class BadPagesError(BadInputError):
    """Pages cannot be committed; each of their problems is told."""

    def __init__(self, message: str, remedy: str, problems: Sequence[Problem]) -> None:
        super().__init__(message, remedy)
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """The fields at the head of a page, as Contexo's `ctx.page.v1` has them, in this order. Times
    are texts of ISO 8601."""

    schema: str
    slug: str
    type: PageType
    author: str
    agent: str = ""
    created: str = ""
    updated: str = ""
    parent_sha: str = ""  # the commit that the draft was written upon
    sources: tuple[str, ...] = ()
    related: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    reasoning_summary: str = ""
    unknown: Mapping[str, Any] = field(default_factory=dict)  # further fields, kept; written last


@dataclass(frozen=True, slots=True)
class Page:
    """A page: its fields, and its Markdown without them."""

    front: Frontmatter
    body: str


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit of the repository of pages."""

    sha: str  # 40 digits
    author: str
    at: float  # in seconds since the epoch
    subject: str
    agent: str = ""  # a trailer of its message
    session: str = ""  # a trailer of its message
    buffer: str = ""  # a trailer of its message


Hunk = tuple[Literal["=", "-", "+"], str]
"""A run of words with its mark: kept, only in the old text, or only in the new one."""


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A field of the frontmatter that differs. Lists are compared as sets, all others by value."""

    field: str
    old: Any = None  # the value; not of lists
    new: Any = None  # the value; not of lists
    added: tuple[Any, ...] = ()  # what only the new list has
    removed: tuple[Any, ...] = ()  # what only the old list has


@dataclass(frozen=True, slots=True)
class SectionChange:
    """The change of a section of level 2, or of the text before the first."""

    heading: str  # that of the new side, else of the old one
    status: Status
    old: str = ""  # text; empty where it is missing
    new: str = ""  # text; empty where it is missing
    old_heading: str = ""  # set where it was renamed
    is_moved: bool = False  # whether its place among the matched ones changed
    is_reflowed: bool = False  # whether only white space differs, so that it counts as unchanged
    hunks: tuple[Hunk, ...] = ()  # the words of a changed one
    introduced_by: Commit | None = None  # the commit that it first came with, through renames
    heading_since: Commit | None = None  # the commit that gave it its heading
    changed_by: Commit | None = None  # the last commit that changed its text


@dataclass(frozen=True, slots=True)
class SectionDiff:
    """The difference of two versions of a page. A missing side is an empty page."""

    slug: str
    from_sha: str  # empty of a missing side
    to_sha: str  # empty of a missing side
    fields: tuple[FieldChange, ...]
    preamble: SectionChange | None
    sections: tuple[SectionChange, ...]
    parse_fallback: bool = False  # whether a side's frontmatter cannot be read: all of it is body


def is_slug(text: str) -> bool:
    """Return whether a text can name a page."""
    return bool(_SLUG.fullmatch(text)) and ".." not in text


def check_slug(slug: str) -> str:
    """Return a slug that can name a page.

    Raises:
        BadInputError: it cannot.
    """
    if not is_slug(slug):
        raise BadInputError(
            f"{slug[:80]!r} cannot be the slug of a page",
            f"use 1 to {SLUG_CHARS_MAX} of A-Z, a-z, 0-9, `_`, `-` and `.`, beginning with a "
            "letter, a digit or `_`, without `..`",
        )
    return slug


def page_path(page_type: PageType, slug: str) -> str:
    """Return where a page lies, below `.contexo/` and in the repository alike.

    Raises:
        BadInputError: there is no such type, or the slug cannot name a page.
    """
    folder = FOLDERS.get(page_type)
    if folder is None:
        message = f"{page_type[:80]!r} is no type of a page"
        raise BadInputError(message, f"use {', '.join(sorted(FOLDERS))}")
    return f"{folder}/{check_slug(slug)}{_SUFFIX}"


def slug_of(path: str) -> tuple[PageType, str] | None:
    """Return the type and the slug of the page at a path; None if none can lie there."""
    folder, _, name = path.rpartition("/")
    slug = name.removesuffix(_SUFFIX)
    if slug == name or not is_slug(slug):
        return None
    for page_type, below in FOLDERS.items():
        if folder == below:
            return page_type, slug
    return None
