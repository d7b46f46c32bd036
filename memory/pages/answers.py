"""Requests to the pages of a project, and the answers."""

from __future__ import annotations

from dataclasses import dataclass
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
    """A draft that was written. `redactions` counts the secrets that were taken out."""

    path: str
    slug: str
    type: PageType
    is_new: bool
    redactions: int = 0
    parent_sha: str = ""


@dataclass(frozen=True, slots=True)
class ReadPage:
    """A page as it is shown: no control or bidirectional character is in `text`.

    `commit` is that of the version shown, None of a draft. `notice` is the drift notice, or empty.
    """

    path: str
    slug: str
    type: PageType | Literal[""]
    text: str
    source: Source
    commit: Commit | None = None
    notice: str = ""


@dataclass(frozen=True, slots=True)
class PageRow:
    """A page as it is listed. `state` is empty where there is no draft of it."""

    path: str
    slug: str
    type: PageType
    title: str
    summary: str = ""
    tags: tuple[str, ...] = ()
    state: DraftState | Literal[""] = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a page, and what to do."""

    path: str
    message: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class DraftStatus:
    """A draft and how it stands. `problem` says why it is broken."""

    path: str
    state: DraftState
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class PagesStatus:
    """How the pages of a project stand: its drafts, its buffers, its repository's newest commit."""

    is_ready: bool
    repository: Path
    head: str = ""
    drafts: tuple[DraftStatus, ...] = ()
    pages: int = 0
    buffers: tuple[BufferStatus, ...] = ()


@dataclass(frozen=True, slots=True)
class PushRequest:
    """What is to be pushed: all changed drafts, or those of `slugs` or of a type.

    `author` is empty for that of `Pages`. `source_slug` is the page that the session was distilled
    into, which `distill_done` says.
    """

    slugs: tuple[str, ...] = ()
    message: str = ""
    author: str = ""
    agent: str = ""
    session: str = ""
    type: str = ""
    distill_done: bool = False
    source_slug: str = ""
    no_distill: bool = False
    is_dry_run: bool = False


@dataclass(frozen=True, slots=True)
class PushedPage:
    """A page of a push, and whether it is new in the repository."""

    path: str
    slug: str
    type: PageType
    is_new: bool
    redactions: int = 0


@dataclass(frozen=True, slots=True)
class Pushed:
    """What a push did. Where `reason` is not empty nothing was committed, and `directive` says what
    to do; of a dry run `commit` is empty, too. `archived` is the buffer that was put away."""

    commit: str = ""
    pages: tuple[PushedPage, ...] = ()
    redactions: int = 0
    reason: PushReason = ""
    directive: str = ""
    archived: str = ""
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
    """What was forgotten. `commits` counts the commits that erasing wrote anew; `notes` say where
    the text may still be."""

    path: str
    commit: str = ""
    had_draft: bool = False
    is_erased: bool = False
    commits: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a page: its commit, why it was written, what changed. `is_removal`: the commit
    removed the page."""

    commit: Commit
    reasoning_summary: str
    diff: SectionDiff
    is_removal: bool = False
