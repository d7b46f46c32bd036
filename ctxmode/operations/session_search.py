"""Turns of sessions in the one index over everything: each is a source of origin `session`,
which `kind:session` finds."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing, suppress

import kb
from base.sqlite_files import connect_read_only
from ctxmode.config.locations import Config
from ctxmode.operations.session_store import open_session_store
from memory.sessions.errors import SessionsError
from memory.sessions.store import SessionStore
from memory.sessions.turns import list_changed_turns, mark_indexed, read_turn

BATCH = 50
WAIT_S = 0.25


def index_turns(sessions: SessionStore, store: kb.Store, *, deadline: float) -> int:
    """Index what changed in sessions until all is, or the clock passes `deadline` (as
    `time.monotonic` counts); return how many turns are left to do.

    A turn that grew takes the place of what was indexed of it.

    Raises:
        SessionsError, kb.StoreError: one of the stores cannot be read or written.
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
    with suppress(sqlite3.Error, SessionsError, kb.StoreError):
        with closing(connect_read_only(config.sessions_file, wait_s=WAIT_S)) as db:
            if db.execute("SELECT 1 FROM turn WHERE changed LIMIT 1").fetchone() is None:
                return
        with open_session_store(
            config.sessions_file,
            str(config.project),
            str(config.home),
            create=False,
            wait_s=WAIT_S,
        ) as sessions:
            index_turns(sessions, store, deadline=deadline)


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
