"""Turns of sessions in the one index over everything: each is a source of origin `session`,
which `kind:session` finds."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import kb
from base.sqlite_files import connect_read_only
from ctxmode.config.locations import Config, prepare_storage
from ctxmode.errors import translate_errors
from ctxmode.operations.library import open_store_at
from ctxmode.operations.session_store import find_users_store, open_session_store
from memory.errors import MemoryRoomError
from memory.sessions.store import SessionStore
from memory.sessions.turns import list_changed_turns, mark_indexed, read_turn

BATCH = 50
WAIT_S = 0.25
USERS_INDEX = "user.sqlite3"
"""Beside the projects' indexes: over the sessions of the user's own store."""


def index_turns(sessions: SessionStore, store: kb.Store, *, deadline: float) -> int:
    """Index what changed in sessions until all is, or the clock passes `deadline` (as
    `time.monotonic` counts); return how many turns are left to do.

    A turn that grew takes the place of what was indexed of it.

    Raises:
        MemoryRoomError, kb.StoreError: one of the stores cannot be read or written.
    """
    while True:
        with sessions.database.reading() as db:
            turns = list_changed_turns(db, BATCH)
            texts = [read_turn(db, turn.session_id, turn.number) for turn in turns]
        for turn, text in zip(turns, texts, strict=True):
            if time.monotonic() >= deadline:
                return len(turns)
            if text:
                spec = kb.SourceSpec(
                    turn.label, kb.Origin.SESSION, kind="text", session=turn.session_id
                )
                _forget_older(store, store.add(spec, text.encode()))
            with sessions.database.writing() as db:
                mark_indexed(db, turn)
        if not turns:
            return 0


def index_new_turns(config: Config, store: kb.Store, *, deadline: float) -> None:
    """Index as `index_turns` what changed in the project's sessions, if anything did. Where that
    cannot be, the search goes without it: `sessions status` tells why."""
    _index_new(config.sessions_file, str(config.project), config, store, deadline)


def index_users_turns(config: Config, store: kb.Store, *, deadline: float) -> None:
    """Index the same of the user's own sessions, into `open_users_index`."""
    _index_new(find_users_store(config), "", config, store, deadline)


@contextmanager
def open_users_index(config: Config) -> Iterator[kb.Store]:
    """Open the index over the user's own sessions, which are of no project.

    Raises:
        kb.StoreError: it cannot be opened or made.
    """
    prepare_storage(config)
    with open_store_at(config, config.database.parent / USERS_INDEX) as store:
        yield store


def _index_new(path: Path, project: str, config: Config, store: kb.Store, deadline: float) -> None:
    with suppress(sqlite3.Error, MemoryRoomError, kb.StoreError):
        with closing(connect_read_only(path, wait_s=WAIT_S)) as db:
            if db.execute("SELECT 1 FROM turn WHERE changed LIMIT 1").fetchone() is None:
                return
        with open_session_store(
            path, project, str(config.home), create=False, wait_s=WAIT_S
        ) as sessions:
            index_turns(sessions, store, deadline=deadline)


def forget_indexed(config: Config, path: Path, session_ids: list[str]) -> None:
    """Forget what was indexed of sessions of the project's store, or of the user's own.

    Raises:
        ContextModeError: the index cannot be opened or written.
    """
    is_users = path == find_users_store(config)
    index = config.database.parent / USERS_INDEX if is_users else config.database
    if not index.exists():
        return
    with translate_errors():
        prepare_storage(config)
        with open_store_at(config, index) as store:
            forget_turns(store, session_ids)


def forget_turns(store: kb.Store, session_ids: list[str]) -> None:
    """Forget what was indexed of sessions."""
    for session_id in session_ids:
        store.purge(session=session_id, pinned=True)


def _forget_older(store: kb.Store, added: kb.Indexed) -> None:
    """Forget the version before: it says less of the same turn."""
    if added.version > 1:
        for source_id in store.versions(added.label):
            if source_id != added.source_id:
                store.forget(source_id)
