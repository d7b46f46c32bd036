"""Requests to the pages of a project, and the answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from memory.pages.buffers import BufferStatus
from memory.pages.model import Commit, PageType, SectionDiff

DraftState = Literal["new", "edited", "unchanged", "behind", "diverged", "removed", "broken"]
"""How a draft stands to the repository: not in it; changed since; the same; the same as an older
version; changed since an older version; the same as a version that was removed; cannot be read."""

Source = Literal["draft", "repository"]
PushReason = Literal["", "merge_required", "distill_required", "nothing", "from_run"]


@dataclass(frozen=True, slots=True)
class Written:
    """A page that was written as a draft, or is of a push."""

    path: str
    slug: str
    type: PageType
    is_new: bool  # whether no draft and no commit had it before
    redactions: int = 0  # how many secrets were taken out


@dataclass(frozen=True, slots=True)
class ReadPage:
    """A page as it is shown."""

    path: str
    slug: str
    type: PageType | Literal[""]
    text: str  # without control or bidirectional characters
    source: Source
    commit: Commit | None = None  # that of the version shown; None of a draft
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
    state: DraftState | Literal[""] = ""  # empty where there is no draft of it


@dataclass(frozen=True, slots=True)
class PagesStatus:
    """How the pages of a project stand: its drafts, its buffers, its repository's newest commit."""

    is_ready: bool
    repository: Path
    head: str = ""
    drafts: Mapping[str, DraftState] = field(default_factory=dict)  # by path, how each stands
    # By path, why a draft is broken: `path`, `message` and `remedy`.
    problems: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    pages: int = 0
    buffers: tuple[BufferStatus, ...] = ()


@dataclass(frozen=True, slots=True)
class PushRequest:
    """A wish to push changed drafts: all, or those of some slugs or of a type."""

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

    commit: str = ""  # empty where nothing was committed, and of a dry run
    pages: tuple[Written, ...] = ()
    redactions: int = 0
    reason: PushReason = ""  # why nothing was committed; else empty
    directive: str = ""  # what to do where there is a reason
    archived: str = ""  # the buffer that was put away
    is_dry_run: bool = False
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PulledPages:
    """What a pull brought: the newest commit before and after, the pages that changed, the drafts
    that were brought up to date, and those that are behind since they were edited."""

    before: str
    after: str
    paths: tuple[str, ...] = ()
    drafts: tuple[str, ...] = ()
    diverged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Forgotten:
    """The outcome of forgetting a page."""

    path: str
    commit: str = ""
    had_draft: bool = False
    is_erased: bool = False
    commits: int = 0  # how many commits erasing wrote anew
    notes: tuple[str, ...] = ()  # where the text may still be


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a page."""

    commit: Commit
    reasoning_summary: str  # why it was written
    diff: SectionDiff  # what changed
    is_removal: bool = False  # whether the commit removed the page
