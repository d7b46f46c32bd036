"""Turns of sessions in the search index: each is a source of origin `session`, found by
`kind:session`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import kb
from base.stores import connect_read_only
from ctxmode.config.locations import Config, prepare_storage
from ctxmode.errors import translate_errors
from ctxmode.operations.session_store import find_users_store, open_session_store
from ctxmode.operations.stores import open_store
from kb import mirrors
from kb.mirrors import Mirrored
from memory.sessions import (
    ChangedTurn,
    SessionStore,
    count_changed_turns,
    list_changed_turns,
    mark_all_changed,
    mark_indexed,
    read_turn,
)

BATCH = 20
WAIT_S = 0.25
WRITE_WAIT_S = 5.0
NAME = "sessions"
ALL = "all"  # the mark of an index that has all turns; turns that change later are marked


def index_turns(sessions: SessionStore, store: kb.Store, *, deadline: float) -> int:
    """Index changed turns until all are indexed, or the clock passes `deadline` (`time.monotonic`);
    return how many are left. A new index takes all turns.

    A turn that grew replaces its indexed version.

    Raises:
        MemoryRoomError, kb.StoreError: one of the stores cannot be read or written.
    """
    if not mirrors.read_marks(store).get(NAME):
        with sessions.database.writing() as db:
            mark_all_changed(db)
        mirrors.follow(store, NAME, (), seen="", mark=ALL)
    while True:
        with sessions.database.reading() as db:
            turns = list_changed_turns(db, BATCH)
            texts = [read_turn(db, session_id, number) for (session_id, number, _), _, _ in turns]
            left = count_changed_turns(db)
        if not turns:
            return 0
        wanted = [_mirror_turn(*one) for one in zip(turns, texts, strict=True)]
        if mirrors.follow(store, NAME, wanted, seen=ALL, wait_s=WRITE_WAIT_S) is None:
            return left  # another process is indexing
        with sessions.database.writing() as db:
            for state, _, _ in turns:
                mark_indexed(db, state)
        if time.monotonic() >= deadline:  # after at least one batch
            return max(left - len(turns), 0)


def _mirror_turn(turn: ChangedTurn, text: str) -> Mirrored:
    (session_id, _, _), at, label = turn
    spec = kb.SourceSpec(
        label,
        kb.Origin.SESSION,
        kind="text",
        session=session_id,
        author=session_id.partition(":")[0],
        said_at=at,
    )
    return label, spec.origin, ((spec, text.encode()),) if text else ()


def follow(config: Config, store: kb.Store, path: Path, seen: str, deadline: float) -> int:
    """Index changed turns of the session store at `path`, if there are any, as `index_turns` does.

    Raises:
        sqlite3.Error, MemoryRoomError, kb.StoreError: one of the stores cannot be read or written.
    """
    with closing(connect_read_only(path, wait_s=WAIT_S)) as db:
        is_new = db.execute("SELECT 1 FROM turn WHERE changed LIMIT 1").fetchone() is not None
    if seen and not is_new:
        return 0
    project = str(config.project) if path == config.sessions_file else ""
    with open_session_store(path, project, str(config.home), create=False, wait_s=WAIT_S) as found:
        return index_turns(found, store, deadline=deadline)


@contextmanager
def open_users_index(config: Config) -> Iterator[kb.Store]:
    """Open the index of the user's own sessions, which belong to no project.

    Raises:
        kb.StoreError: it cannot be opened or created.
    """
    prepare_storage(config)
    with open_store(config, config.users_database) as store:
        yield store


def forget_indexed(config: Config, path: Path, session_ids: list[str]) -> None:
    """Delete sessions from the index of the project, or of the user's own store. Raise
    ContextModeError if the index cannot be opened or written."""
    is_users = path == find_users_store(config)
    index = config.users_database if is_users else config.database
    if not index.exists():
        return
    with translate_errors():
        prepare_storage(config)
        with open_store(config, index) as store:
            forget_turns(store, session_ids)


def forget_turns(store: kb.Store, session_ids: list[str]) -> None:
    """Delete sessions from an index."""
    for session_id in session_ids:
        store.purge(session=session_id, pinned=True)
