"""Session tracking while a server runs: new lines of transcripts, their turns, retention.

A server reads only hosts with stored sessions. The first ones are stored by hooks, or by the user
with `context-mode sessions track`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import kb
from ctxmode.config.locations import Config
from ctxmode.config.settings import load_settings
from ctxmode.config.transcripts import Recording, load_recording
from ctxmode.errors import ContextModeError
from ctxmode.operations.session_calls import SessionCalls
from ctxmode.operations.session_search import forget_indexed, forget_turns, index_turns
from ctxmode.operations.session_sources import find_oldest, find_source
from ctxmode.operations.session_store import find_users_store, open_session_store
from memory.errors import MemoryRoomError
from memory.sessions import SessionStore, maintenance
from memory.sessions.importers import Ground, Importer

STEP_S = 0.5  # time limit in seconds of one step; the next continues
USERS_WAIT_S = 1.0  # seconds to wait for the user's own store if it is locked
LAST_WAIT_S = 1.0  # seconds to wait for other writers when a server ends


def track_step(config: Config, store: kb.Store, calls: SessionCalls) -> tuple[str, ...]:
    """Write queued calls, read new lines of transcripts, index changed turns, delete old sessions.
    Return the folders to watch for new lines.

    Raises:
        ContextModeError: a configuration file cannot be read.
        MemoryRoomError, kb.StoreError: one of the stores cannot be read or written.
    """
    if not calls.waiting and not config.sessions_file.exists():
        return ()
    recording = load_recording(str(config.project), str(config.config_home), os.environ)
    if not recording.events and not config.sessions_file.exists():
        calls.waiting.clear()
        return ()
    deadline = time.monotonic() + STEP_S
    home = str(config.home)
    roots: tuple[str, ...] = ()
    with open_session_store(
        config.sessions_file,
        str(config.project),
        home,
        keep_messages=recording.messages,
    ) as sessions:
        if sessions.database.is_read_only:
            return ()
        if recording.events:
            calls.write(sessions)
            ground = Ground(home, os.environ, str(config.project))
            known = tuple(list_known(sessions, recording, home))
            oldest = find_oldest(config)
            sessions.import_all(known, ground, since=oldest, deadline=deadline)
            roots = tuple(root for one in known for root in one.roots(ground))
        index_turns(sessions, store, deadline=deadline)
        maintain(config, sessions, store)
    _maintain_users_store(config)
    return roots


def end_calls(config: Config, calls: SessionCalls, owner: str | None = None) -> None:
    """Write queued calls, and record that their sessions ended: all with the server, or those of
    one client. Ignore errors, because no caller is left to receive them."""
    with suppress(OSError, ContextModeError, MemoryRoomError):
        recording = load_recording(str(config.project), str(config.config_home), os.environ)
        if not recording.events:
            return
        with open_session_store(
            config.sessions_file,
            str(config.project),
            str(config.home),
            keep_messages=recording.messages,
            wait_s=LAST_WAIT_S,
        ) as sessions:
            if not sessions.database.is_read_only:
                calls.end(sessions, owner)


def load_bounds(config: Config, path: Path) -> tuple[float, int]:
    """Load the days that sessions are kept after their last activity or import, and the size limit
    of the store. Project settings do not apply to the user's own store."""
    project = None if path == find_users_store(config) else config.project
    values = load_settings(project, config.config_home).values
    return float(values["transcripts.keep_days"]), int(values["quota.sessions_bytes"])


def maintain(config: Config, sessions: SessionStore, index: kb.Store | None) -> tuple[str, ...]:
    """Copy a store once a day. Delete expired sessions, and the next ones if the store is over its
    quota, with their turns in the index. Delete no expired sessions if the clock may have jumped.
    Return notices for the user.

    Nothing else deletes sessions automatically; reading them never does.
    """
    if sessions.database.is_read_only:
        return ()
    notices = _copy_daily(sessions)
    keep_days, bytes_max = load_bounds(config, Path(sessions.database.path))
    gone: list[str] = []
    now = time.time()
    with sessions.database.reading() as db:
        expired = maintenance.find_expired(db, now, keep_days)
        doubt = maintenance.describe_doubt(db, now, keep_days)
    if expired and not doubt:
        gone += _delete(config, sessions, expired, is_expired=True)
    while maintenance.measure(sessions.database.path) > bytes_max:
        with sessions.database.reading() as db:
            last = maintenance.find_next_to_go(db)
        if not last:
            break
        gone += _delete(config, sessions, [last], is_expired=False)
    if index is not None:
        forget_turns(index, gone)
    elif gone:
        forget_indexed(config, Path(sessions.database.path), gone)
    return (*notices, *filter(None, (doubt,)))


def _copy_daily(sessions: SessionStore) -> tuple[str, ...]:
    try:
        sessions.copy_daily()
    except OSError as error:
        return (f"cannot make today's copy of {sessions.database.path}: {error.strerror}",)
    return ()


def _maintain_users_store(config: Config) -> None:
    """Maintain the user's own store. If it cannot be opened now, a later step does it."""
    path = find_users_store(config)
    if not path.is_file():
        return
    home = str(config.home)
    with (
        suppress(ContextModeError, MemoryRoomError),
        open_session_store(path, "", home, create=False, wait_s=USERS_WAIT_S) as sessions,
    ):
        maintain(config, sessions, None)


def _delete(
    config: Config, sessions: SessionStore, session_ids: list[str], *, is_expired: bool
) -> list[str]:
    """Delete sessions, and their facts if they are in the project's store; the user's store has
    none."""
    if Path(sessions.database.path) == config.sessions_file and config.facts_file.exists():
        from ctxmode.operations.session_facts import erase_facts  # noqa: PLC0415 - seldom

        # Facts that cannot be erased now expire. Waiting for them would exceed the quota.
        with suppress(ContextModeError):
            erase_facts(config, session_ids, is_scope_alone=True)
    with sessions.database.writing() as db:
        delete = maintenance.expire if is_expired else maintenance.delete
        gone = delete(db, session_ids)
    with sessions.database.exclusively() as db:
        maintenance.compact(db)
    return gone


def list_known(sessions: SessionStore, recording: Recording, home: str) -> Iterator[Importer]:
    """Yield the hosts with recorded sessions that are not turned off."""
    with sessions.database.reading() as db:
        rows = db.execute("SELECT agent FROM source UNION SELECT agent FROM session").fetchall()
    for (agent,) in rows:
        if (importer := find_source(agent, recording, home)) is not None:
            yield importer
