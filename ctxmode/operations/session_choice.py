"""Choice of the session that an MCP client refers to, and reading of new entries before an
answer."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress

from ctxmode.config.locations import Config
from ctxmode.errors import ContextModeError, UsageError
from ctxmode.hosts.registry import find_importer
from ctxmode.operations.session_calls import SessionCalls, name_owner
from ctxmode.operations.session_sources import find_oldest
from ctxmode.operations.session_store import open_session_store
from ctxmode.operations.session_tracking import list_known
from ctxmode.operations.sessions import find_ground, read_recording
from memory.errors import MemoryRoomError
from memory.sessions import Session, SessionStore, reading
from memory.sessions.importers import Ground, Importer, Transcript

CATCH_UP_S = 1.0  # seconds for reading new entries before an answer; the server reads the rest
STORE_WAIT_S = 0.25
FAR_BEHIND_BYTES = 64 * 1024
"""If more bytes of a transcript are unread, the answer reports it; a torn last line has fewer."""


def list_owners(holder: str) -> tuple[str, ...]:
    """List the owners whose sessions a token's holder sees: the user and the holder. Without a
    token the caller is the user, who sees all."""
    return (str(os.getuid()), name_owner(holder)) if holder else ()


def refuse_if_off(config: Config) -> None:
    """Raise ContextModeError if sessions are not recorded: what turned recording off, and the
    fix."""
    recording = read_recording(config)
    if recording.events:
        return
    remedy = (
        f"The user can turn it on: remove `events = false` from {recording.off_by}."
        if os.sep in recording.off_by
        else f"The user can turn it on: unset {recording.off_by}."
    )
    raise ContextModeError(
        f"sessions are not recorded: {recording.off_by} turns recording off", remedy
    )


def catch_up(config: Config, calls: SessionCalls, agent: str) -> None:
    """Write queued calls, and read new lines of an agent's transcripts, latest first, for
    CATCH_UP_S. Skip this if no sessions are stored. Errors are ignored: `sessions status` reports
    them."""
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
    """Return a row that finds the same transcripts, last changed first."""

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
    """Choose a session by its ID or the beginning of it. Without an ID: the one that records the
    client's own calls, else the agent's latest, or all of its active ones if there are several.

    Raises:
        UnknownSessionError: no session has that ID, or several begin with it.
        UsageError: no session of the agent is stored.
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
    raise UsageError(f"no session of {agent} is stored", hint or NONE_KEPT)


NONE_KEPT = (
    "The user can import transcripts: context-mode sessions track. For hosts without transcripts, "
    "calls of these tools are recorded."
)


def count_unread(store: SessionStore, session: Session) -> int:
    """Count the unread bytes of a session's transcript, if known."""
    importer = find_importer(session.agent)
    if importer is None or importer.parse_line is None or not session.source_path:
        return 0
    unread = store.count_unread(Transcript(session.source_path))
    return unread if unread > FAR_BEHIND_BYTES else 0
