"""Data types of pages: names, fields, commits, differences, errors, requests and answers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from memory.errors import BadInputError, MemoryRoomError
from memory.pages.buffers import BufferStatus

PageType = Literal["concept", "entity", "source", "analysis"]
PAGE_TYPES: tuple[PageType, ...] = get_args(PageType)
KNOWLEDGE: tuple[PageType, ...] = ("concept", "analysis")
"""Types of pages distilled from a session: pushing them asks for their source."""

SCHEMA = "ctx.page.v1"
FOLDERS: Mapping[PageType, str] = {
    "source": "raw/sessions",
    "concept": "wiki/concepts",
    "entity": "wiki/entities",
    "analysis": "wiki/analyses",
}
"""Folders of each page type, both below `.contexo/` and in the repository."""

DRAFTS_FOLDER = ".contexo"
PAGE_BYTES_MAX = 1 << 20
FRONTMATTER_BYTES_MAX = 64 * 1024
SLUG_CHARS_MAX = 200

Status = Literal["unchanged", "added", "removed", "modified", "renamed"]

_SLUG = re.compile(rf"[A-Za-z0-9_][A-Za-z0-9._-]{{0,{SLUG_CHARS_MAX - 1}}}")
_SUFFIX = ".md"


class GitError(MemoryRoomError):
    """Error: git is missing, failed, printed too much or took too long."""


class MovedError(MemoryRoomError):
    """Error: the branch has moved since its head was read; nothing was committed."""


Problem = tuple[str, BadInputError]
"""The path of a page, and its problem."""


class BadPagesError(BadInputError):
    """Error: pages cannot be committed; it lists each problem."""

    def __init__(self, message: str, remedy: str, problems: Sequence[Problem]) -> None:
        super().__init__(message, remedy)
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """The fields at the head of a page, in the order of Contexo's `ctx.page.v1`. Times are texts in
    ISO 8601."""

    schema: str
    slug: str
    type: PageType
    author: str
    agent: str = ""
    created: str = ""
    updated: str = ""
    parent_sha: str = ""  # the commit that the draft is based on
    sources: tuple[str, ...] = ()
    related: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    reasoning_summary: str = ""
    unknown: Mapping[str, Any] = field(default_factory=dict)  # preserved; written last


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
"""A run of words with its mark: unchanged, only in the old text, or only in the new one."""


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A field of the frontmatter that differs. Lists are compared as sets, others by value."""

    field: str
    old: Any = None  # the value; unused for lists
    new: Any = None  # the value; unused for lists
    added: tuple[Any, ...] = ()  # items only in the new list
    removed: tuple[Any, ...] = ()  # items only in the old list


@dataclass(frozen=True, slots=True)
class SectionChange:
    """The change of a section of level 2, or of the text before the first."""

    heading: str  # heading of the new side, else of the old one
    status: Status
    old: str = ""  # text; empty if missing
    new: str = ""  # text; empty if missing
    old_heading: str = ""  # set if it was renamed
    is_moved: bool = False  # whether its order among the matched ones changed
    is_reflowed: bool = False  # whether only white space differs, which counts as unchanged
    hunks: tuple[Hunk, ...] = ()  # the words of a changed section
    introduced_by: Commit | None = None  # its first commit, followed through renames
    heading_since: Commit | None = None  # the commit that gave it its heading
    changed_by: Commit | None = None  # the last commit that changed its text


@dataclass(frozen=True, slots=True)
class SectionDiff:
    """The difference of two versions of a page. A missing side is an empty page."""

    slug: str
    from_sha: str  # empty for a missing side
    to_sha: str  # empty for a missing side
    fields: tuple[FieldChange, ...]
    preamble: SectionChange | None
    sections: tuple[SectionChange, ...]
    parse_fallback: bool = False  # whether a side's frontmatter is unreadable: all of it is body


DraftState = Literal["new", "edited", "unchanged", "behind", "diverged", "removed", "broken"]
"""States of a draft against the repository: not in it; changed since; equal; equal to an older
version; changed since an older version; equal to a removed version; unreadable."""

Source = Literal["draft", "repository"]
PushReason = Literal["", "merge_required", "distill_required", "nothing", "from_run"]


@dataclass(frozen=True, slots=True)
class Written:
    """A page that was written as a draft, or pushed."""

    path: str
    slug: str
    type: PageType
    is_new: bool  # whether it was in no draft and no commit before
    redactions: int = 0  # number of secrets removed


@dataclass(frozen=True, slots=True)
class ReadPage:
    """A page as it is shown."""

    path: str
    slug: str
    type: PageType | Literal[""]
    text: str  # without control or bidirectional characters
    source: Source
    commit: Commit | None = None  # commit of the version shown; None for a draft
    notice: str = ""  # the drift notice, or empty


@dataclass(frozen=True, slots=True)
class PageRow:
    """A page as it is listed."""

    path: str
    slug: str
    type: PageType
    title: str
    summary: str = ""
    tags: tuple[str, ...] = ()
    state: DraftState | Literal[""] = ""  # empty without a draft


@dataclass(frozen=True, slots=True)
class PagesStatus:
    """The status of a project's pages: drafts, buffers, the repository's newest commit."""

    is_ready: bool
    repository: Path
    head: str = ""
    drafts: Mapping[str, DraftState] = field(default_factory=dict)  # states by path
    # Reasons why a draft is broken, by path: `path`, `message` and `remedy`.
    problems: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    pages: int = 0
    buffers: tuple[BufferStatus, ...] = ()


@dataclass(frozen=True, slots=True)
class PushRequest:
    """A request to push changed drafts: all, or those of some slugs or of a type."""

    slugs: tuple[str, ...] = ()
    message: str = ""
    author: str = ""  # if empty, that of `Pages`
    agent: str = ""
    session: str = ""
    type: str = ""
    distill_done: bool = False  # whether the session was distilled
    source_slug: str = ""  # the page that the session was distilled into
    no_distill: bool = False
    is_dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Pushed:
    """The outcome of a push."""

    commit: str = ""  # empty if nothing was committed, and for a dry run
    pages: tuple[Written, ...] = ()
    redactions: int = 0
    reason: PushReason = ""  # why nothing was committed, or empty
    directive: str = ""  # instructions, if there is a reason
    archived: str = ""  # the buffer that was archived
    is_dry_run: bool = False
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PulledPages:
    """The result of a pull: the newest commit before and after, the changed pages, the updated
    drafts, and the edited drafts that are now outdated."""

    before: str
    after: str
    paths: tuple[str, ...] = ()
    drafts: tuple[str, ...] = ()
    diverged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Forgotten:
    """The outcome of deleting a page."""

    path: str
    commit: str = ""
    had_draft: bool = False
    is_erased: bool = False
    commits: int = 0  # number of commits that erasing rewrote
    notes: tuple[str, ...] = ()  # places where the text may remain


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a page."""

    commit: Commit
    reasoning_summary: str  # reason of the change
    diff: SectionDiff  # list of changes
    is_removal: bool = False  # whether the commit removed the page


def is_slug(text: str) -> bool:
    """Return whether a text can name a page."""
    return bool(_SLUG.fullmatch(text)) and ".." not in text


def check_slug(slug: str) -> str:
    """Return a slug that can name a page.

    Raises:
        BadInputError: it is not valid.
    """
    if not is_slug(slug):
        raise BadInputError(
            f"invalid slug {slug[:80]!r}",
            f"Use 1 to {SLUG_CHARS_MAX} of A-Z, a-z, 0-9, `_`, `-` and `.`, beginning with a "
            "letter, a digit or `_`, without `..`.",
        )
    return slug


def page_path(page_type: PageType, slug: str) -> str:
    """Return the path of a page, both below `.contexo/` and in the repository.

    Raises:
        BadInputError: the type is unknown, or the slug is not valid.
    """
    folder = FOLDERS.get(page_type)
    if folder is None:
        message = f"unknown page type {page_type[:80]!r}"
        raise BadInputError(message, f"Choose from: {', '.join(sorted(FOLDERS))}.")
    return f"{folder}/{check_slug(slug)}{_SUFFIX}"


def slug_of(path: str) -> tuple[PageType, str] | None:
    """Return the type and the slug of the page at a path; None if it cannot be a page's."""
    folder, _, name = path.rpartition("/")
    slug = name.removesuffix(_SUFFIX)
    if slug == name or not is_slug(slug):
        return None
    for page_type, below in FOLDERS.items():
        if folder == below:
            return page_type, slug
    return None
