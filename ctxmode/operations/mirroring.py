"""Copies of facts, pages and sessions in the search index.

Each has its own store; a deleted index is filled again. New entries are indexed before a search,
within a time limit; removed entries are removed from the index at once, by the removing call.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import kb
from base.wording import inflect
from ctxmode.config.file_names import has_drafts
from ctxmode.config.locations import Config
from ctxmode.errors import ContextModeError
from ctxmode.operations.stores import open_store
from ctxmode.render.highlight import one_line
from kb import eviction, mirrors
from memory.errors import MemoryRoomError

SEARCH_S = 0.3  # seconds that a search may spend on indexing new entries
REMOVAL_S = 1.0  # seconds that a removal may spend on updating the index
ERASING_S = 10.0  # the same for an erasure
FACTS, USERS_FACTS, PAGES, SESSIONS = "facts", "user facts", "pages", "sessions"
USERS_LABEL = "memory:user:"
"""Label prefix of the user's own facts, which are in the index of each project."""

_UNREADABLE = (sqlite3.Error, OSError, MemoryRoomError, kb.StoreError, ContextModeError)
# `Find` returns the path of a store, None if it was never set up. `Follow` indexes entries after a
# mark until a deadline, and returns how many are left. Each is loaded only if its store exists.
Find: TypeAlias = Callable[[Config], Path | None]
Follow: TypeAlias = Callable[[Config, kb.Store, Path, str, float], int]


def _follow_facts(config: Config, store: kb.Store, path: Path, seen: str, deadline: float) -> int:
    from ctxmode.operations import fact_mirror  # noqa: PLC0415 - if there are any

    name, prefix = (
        (USERS_FACTS, USERS_LABEL) if path == config.users_facts_file else (FACTS, "memory:")
    )
    return fact_mirror.follow(path, store, seen, deadline, name=name, prefix=prefix)


def _find_pages(config: Config) -> Path | None:
    if not (has_drafts(str(config.project)) or config.pages_folder.exists()):
        return None
    from ctxmode.operations.page_repository import find_repository  # noqa: PLC0415 - reads settings

    path = find_repository(config)
    # If only drafts exist, they came with the project, and pages are not set up here.
    return path if path.exists() else None


def _follow_pages(config: Config, store: kb.Store, path: Path, seen: str, deadline: float) -> int:
    from ctxmode.operations import page_mirror  # noqa: PLC0415 - if there are any

    del config
    return page_mirror.follow(path, store, seen, deadline)


def _follow_sessions(
    config: Config, store: kb.Store, path: Path, seen: str, deadline: float
) -> int:
    from ctxmode.operations import session_search  # noqa: PLC0415 - if there are any

    return session_search.follow(config, store, path, seen, deadline)


def _find_users_sessions(config: Config) -> Path:
    from ctxmode.operations.session_store import find_users_store  # noqa: PLC0415 - few ask

    return find_users_store(config)


MIRRORS: Mapping[str, tuple[Find, Follow]] = {
    FACTS: (lambda config: config.facts_file, _follow_facts),
    USERS_FACTS: (lambda config: config.users_facts_file, _follow_facts),
    PAGES: (_find_pages, _follow_pages),
    SESSIONS: (lambda config: config.sessions_file, _follow_sessions),
}
"""The mirrors in a project's index, by name."""

USERS_MIRRORS: Mapping[str, tuple[Find, Follow]] = {
    SESSIONS: (_find_users_sessions, _follow_sessions)
}
"""The mirrors in the index of the user's own sessions, which belong to no project."""


def catch_up(
    config: Config,
    store: kb.Store,
    *,
    seconds: float = SEARCH_S,
    among: Mapping[str, tuple[Find, Follow]] = MIRRORS,
) -> tuple[str, ...]:
    """Index new entries for up to `seconds`. Return notes: how many are left, and which stores
    could not be read, so that the search uses their last indexed state."""
    if store.access.read_only:
        return ()
    deadline = time.monotonic() + seconds
    notes: list[str] = []
    left = 0
    try:
        marks = mirrors.read_marks(store)
    except kb.StoreError:
        return ()  # the search itself reports it
    for name, mirror in among.items():
        try:
            left += _follow(name, mirror, config, store, marks, deadline)
        except _UNREADABLE as error:
            notes.append(one_line(f"Using the last indexed state of {name}: {error}"))
    if left:
        notes.append(f"{inflect(left, 'new entry', 'new entries')} not yet indexed. Search again.")
    return tuple(notes)


def _follow(
    name: str,
    mirror: tuple[Find, Follow],
    config: Config,
    store: kb.Store,
    marks: Mapping[str, str],
    deadline: float,
) -> int:
    find, follow = mirror
    path = find(config)
    if path is None or not os.path.exists(path):
        if name in marks and name != SESSIONS:
            raise FileNotFoundError(f"{path or 'their repository'} is missing")
        return 0
    return follow(config, store, path, marks.get(name, ""), deadline)


def take_out(
    config: Config,
    names: Sequence[str],
    *,
    seconds: float = ERASING_S,
    is_everywhere: bool = False,
) -> None:
    """Remove entries from the index that the stores no longer have; with `is_everywhere` from the
    index of each project, because each has the user's own facts. Skip missing indexes. Raise
    ContextModeError if an index cannot be written; the next search there tries again."""
    folder = config.database.parent
    paths = eviction.stores(folder) if is_everywhere else [config.database]
    failed: list[str] = []
    for path in paths:
        if path.exists():
            failed += _take_out(config, path, names, time.monotonic() + seconds)
    if failed:
        raise ContextModeError(
            f"done, but a search may still find removed entries: {'; '.join(failed)}",
            "Search there again, which retries the removal.",
        )


def _take_out(config: Config, path: Path, names: Sequence[str], deadline: float) -> list[str]:
    while True:
        try:
            with open_store(config, path) as store:
                marks = mirrors.read_marks(store)
                for name, mirror in MIRRORS.items():
                    # Without a mark the index has no such entries; the next search there fills it.
                    if name in names and name in marks:
                        _follow(name, mirror, config, store, marks, deadline)
            return []
        except kb.StoreBusyError as error:
            if time.monotonic() >= deadline:
                return [one_line(f"{path}: {error}")]
        except _UNREADABLE as error:
            return [one_line(f"{path}: {error}")]


def forget_marks(store: kb.Store, *, is_all: bool) -> None:
    """Make the next search compare all entries after a purge; sessions only if `is_all`."""
    mirrors.forget_marks(store, besides="" if is_all else SESSIONS)
