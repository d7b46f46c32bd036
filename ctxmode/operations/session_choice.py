"""Which session a client of MCP means, and reading what is new in it before it is answered."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress

from ctxmode.config.locations import Config
from ctxmode.errors import ContextModeError, UsageError
from ctxmode.operations.session_calls import SessionCalls, name_owner
from ctxmode.operations.session_sources import find_oldest
from ctxmode.operations.session_store import open_session_store
from ctxmode.operations.session_tracking import list_known
from ctxmode.operations.sessions import find_ground, read_recording
from memory.errors import MemoryRoomError
from memory.sessions import Session, SessionStore, reading
from memory.sessions.importers import Ground, Importer, Transcript, find_importer

CATCH_UP_S = 1.0
"""How long what is new may be read before an answer; a server reads the rest."""

STORE_WAIT_S = 0.25
FAR_BEHIND_BYTES = 64 * 1024
"""Of a transcript of which more is unread, an answer says so; a torn last line is less."""


def list_owners(holder: str) -> tuple[str, ...]:
    """List whose sessions the holder of a token sees: the user's and their own. Without a token it
    is the user who asks, who sees all."""
    return (str(os.getuid()), name_owner(holder)) if holder else ()


def refuse_if_off(config: Config) -> None:
    """Raise a ContextModeError where sessions are not recorded: who turned that off, and what turns
    it on."""
    recording = read_recording(config)
    if recording.events:
        return
    remedy = (
        f"A person takes `events = false` out of {recording.off_by} to turn it on."
        if os.sep in recording.off_by
        else f"A person unsets {recording.off_by} to turn it on."
    )
    raise ContextModeError(f"No session is recorded: {recording.off_by} turns it off.", remedy)


def catch_up(config: Config, calls: SessionCalls, agent: str) -> None:
    """Write the calls that wait, and read for a moment what is new in an agent's transcripts, the
    latest first; only where some of them are kept, as a server does. Where that cannot be, the
    answer goes without: `sessions status` tells why."""
    if not calls.waiting and not config.sessions_file.exists():
        return
    deadline = time.monotonic() + CATCH_UP_S
    recording = read_recording(config)
    with (
        suppress(ContextModeError, MemoryRoomError, OSError),
        open_session_store(
            config.sessions_file,
            str(config.project),
            str(config.home),
            keep_messages=recording.messages,
            wait_s=STORE_WAIT_S,
        ) as store,
    ):
        if store.database.is_read_only:
            return
        calls.write(store)
        known = list_known(store, recording, str(config.home))
        own = (_sort_latest_first(one) for one in known if one.agent == agent)
        since = find_oldest(config)
        store.import_all(own, find_ground(config), since=since, deadline=deadline)


def _sort_latest_first(importer: Importer) -> Importer:
    """Make a row that finds the same transcripts in the order of their last change."""

    def find(ground: Ground) -> Iterator[Transcript]:
        yield from sorted(importer.find(ground), key=_changed_at, reverse=True)

    return importer._replace(find=find)


def _changed_at(found: Transcript) -> float:
    try:
        return os.lstat(found.path).st_mtime
    except (OSError, ValueError):
        return 0.0


def choose_sessions(
    store: SessionStore, wanted: str, agent: str, owners: Sequence[str] = (), *, own: str = ""
) -> list[Session]:
    """Choose the session with an id or the beginning of one; without an id the one in which the
    client's own calls are recorded. Where there is none it is the latest of an agent, or all of its
    active ones if these are several: none is guessed.

    Raises:
        UnknownSessionError: no session has that id, or several begin with it.
        UsageError: none of the agent's is kept.
    """
    with store.database.reading() as db:
        if wanted:
            return [reading.find_session(db, wanted, owners=owners)]
        listed = reading.list_sessions(db, agent=agent, limit=None, owners=owners)
        if of_client := [one for one in listed if own and one.id == own]:
            return of_client
        found = [one for one in listed if one.relation != "subagent"]
        others = [] if found else reading.list_sessions(db, limit=5, owners=owners)
    continued = {one.parent_id for one in found if one.relation == "continued"}
    active = [one for one in found if one.status == "active" and one.id not in continued]
    if found:
        return active if len(active) > 1 else found[:1]
    hint = f"Give an id. The latest are {', '.join(one.id for one in others)}." if others else ""
    raise UsageError(f"no session of {agent} is kept", hint or NONE_KEPT)


NONE_KEPT = (
    "A person begins with: context-mode sessions track. Calls of these tools are recorded for "
    "hosts without a transcript."
)


def count_unread(store: SessionStore, session: Session) -> int:
    """Count the bytes of a session's transcript that are not read yet, where that is known."""
    importer = find_importer(session.agent)
    if importer is None or importer.parse_line is None or not session.source_path:
        return 0
    unread = store.count_unread(Transcript(session.source_path))
    return unread if unread > FAR_BEHIND_BYTES else 0
