"""What is kept outside of the index, mirrored in it for the one search: facts, pages, sessions.

Each has a truth of its own; the index may be deleted, and fills itself again. What is new is
indexed before a search, for a moment; what went is taken out at once, by whoever removes it.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import kb
from ctxmode.config.file_names import has_drafts
from ctxmode.config.locations import Config
from ctxmode.errors import ContextModeError
from ctxmode.operations.stores import open_store
from ctxmode.render.highlight import one_line
from kb import eviction, mirrors
from memory.errors import MemoryRoomError

SEARCH_S = 0.3
"""How long a search may mirror what is new."""

REMOVAL_S = 1.0
ERASING_S = 10.0
"""How long one that takes something away, or erases it, may mirror that."""

FACTS, USERS_FACTS, PAGES, SESSIONS = "facts", "user facts", "pages", "sessions"
USERS_LABEL = "memory:user:"
"""How the labels of the user's own facts begin, which the index of each project has."""

_UNREADABLE = (sqlite3.Error, OSError, MemoryRoomError, kb.StoreError, ContextModeError)
# Where a truth lies, None where it never began; and what indexes what came after a mark until a
# deadline, and returns how much is left. Each is loaded where there is something of its kind.
Find: TypeAlias = Callable[[Config], Path | None]
Follow: TypeAlias = Callable[[Config, kb.Store, Path, str, float], int]


def _follow_facts(config: Config, store: kb.Store, path: Path, seen: str, deadline: float) -> int:
    from ctxmode.operations import fact_mirror  # noqa: PLC0415 - where there are any

    name, prefix = (
        (USERS_FACTS, USERS_LABEL) if path == config.users_facts_file else (FACTS, "memory:")
    )
    return fact_mirror.follow(path, store, seen, deadline, name=name, prefix=prefix)


def _find_pages(config: Config) -> Path | None:
    if not (has_drafts(str(config.project)) or config.pages_folder.exists()):
        return None
    from ctxmode.operations.page_repository import find_repository  # noqa: PLC0415 - reads settings

    path = find_repository(config)
    # Drafts alone came with the project: nobody began pages here.
    return path if path.exists() else None


def _follow_pages(config: Config, store: kb.Store, path: Path, seen: str, deadline: float) -> int:
    from ctxmode.operations import page_mirror  # noqa: PLC0415 - where there are any

    del config
    return page_mirror.follow(path, store, seen, deadline)


def _follow_sessions(
    config: Config, store: kb.Store, path: Path, seen: str, deadline: float
) -> int:
    from ctxmode.operations import session_search  # noqa: PLC0415 - where there are any

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
"""What a project's index mirrors, by name."""

USERS_MIRRORS: Mapping[str, tuple[Find, Follow]] = {
    SESSIONS: (_find_users_sessions, _follow_sessions)
}
"""What the index of the user's own sessions mirrors, which are of no project."""


def catch_up(
    config: Config,
    store: kb.Store,
    *,
    seconds: float = SEARCH_S,
    among: Mapping[str, tuple[Find, Follow]] = MIRRORS,
) -> tuple[str, ...]:
    """Index what is new, as far as it goes in so many seconds. Return notes: how much is left, and
    what could not be read, so that the search has it as it was."""
    if store.access.read_only:
        return ()
    deadline = time.monotonic() + seconds
    notes: list[str] = []
    left = 0
    try:
        marks = mirrors.read_marks(store)
    except kb.StoreError:
        return ()  # the search itself will tell
    for name, mirror in among.items():
        try:
            left += _follow(name, mirror, config, store, marks, deadline)
        except _UNREADABLE as error:
            notes.append(one_line(f"Searched as they were last indexed: {name}: {error}"))
    if left:
        notes.append(f"{left} of what was kept lately still to be indexed: ask again.")
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
    """Take out of the index what a truth has no more; with `is_everywhere` out of those of all
    projects, where the user's own facts are. Where there is no index, nothing is to be done.

    Raises:
        ContextModeError: an index cannot be written; the next search there tries again.
    """
    folder = config.database.parent
    paths = eviction.stores(folder) if is_everywhere else [config.database]
    failed: list[str] = []
    for path in paths:
        if path.exists():
            failed += _take_out(config, path, names, time.monotonic() + seconds)
    if failed:
        raise ContextModeError(
            f"done, but a search may still find what is gone: {'; '.join(failed)}",
            "The next search there tries to take it out again.",
        )


def _take_out(config: Config, path: Path, names: Sequence[str], deadline: float) -> list[str]:
    while True:
        try:
            with open_store(config, path) as store:
                marks = mirrors.read_marks(store)
                for name, mirror in MIRRORS.items():
                    # Without a mark the index has nothing of it; the next search there fills it.
                    if name in names and name in marks:
                        _follow(name, mirror, config, store, marks, deadline)
            return []
        except kb.StoreBusyError as error:
            if time.monotonic() >= deadline:
                return [one_line(f"{path}: {error}")]
        except _UNREADABLE as error:
            return [one_line(f"{path}: {error}")]


def forget_marks(store: kb.Store, *, is_all: bool) -> None:
    """Have all be compared anew after a purge; turns of sessions only if all was meant."""
    mirrors.forget_marks(store, besides="" if is_all else SESSIONS)
