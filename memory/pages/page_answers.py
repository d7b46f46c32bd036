"""Requests for the pages of a project, and the answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from memory.pages.buffers import BufferStatus
from memory.pages.model import Commit, PageType, SectionDiff

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
