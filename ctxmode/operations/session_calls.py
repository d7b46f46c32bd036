"""Sessions of hosts without readable transcripts: their calls of this server, as events.

Calls are queued in memory and written after the answers; the last ones when the server ends.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ctxmode.hosts.registry import find_host, name_agent

# A server that records no calls does not load sessions.
if TYPE_CHECKING:
    from memory.sessions import Record, SessionStore

WAITING_MAX = 1000  # maximum number of queued calls; beyond it the oldest are not recorded
ENDED = "the server ended"  # the reason for a session's end if its host gives none
CLIENTS_REMEMBERED = 64
LOOKING_BACK = "ctx_session"  # the tool that shows sessions; its calls are not recorded


@dataclass(frozen=True, slots=True)
class SessionCall:
    """One answered call."""

    number: int  # unique, independent of the clock
    agent: str
    session_id: str
    tool: str
    params: Mapping[str, Any]
    error: str  # the answer of a failed call, else empty
    at: float
    holder: str = ""  # the holder of the token; empty over stdio


@dataclass(slots=True)
class SessionCalls:
    """The queued calls of one server and project. Calls are added while another thread writes."""

    folder: str
    waiting: list[SessionCall] = field(default_factory=list)
    _name: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    _count: int = 0
    _written: set[tuple[str, str]] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(
        self,
        client: str,
        owner: str,
        tool: str,
        params: Mapping[str, Any],
        error: str,
        holder: str = "",
    ) -> None:
        """Queue a call of a client, unless its host writes a transcript itself. `error` is the
        answer of a failed call."""
        agent = _find_agent(client)
        if tool == LOOKING_BACK or not agent:
            return
        session_id, at = self._name_session(owner), time.time()
        with self._lock:
            self._count += 1
            self.waiting.append(
                SessionCall(self._count, agent, session_id, tool, params, error, at, holder)
            )
            del self.waiting[:-WAITING_MAX]

    def find_session(self, agent: str, owner: str) -> str:
        """Return the ID of the session that records a client's calls; empty if none was written
        yet."""
        session_id = self._name_session(owner)
        return f"{agent}:{session_id}" if (agent, session_id) in self._written else ""

    def _name_session(self, owner: str) -> str:
        return f"{self._name}-{owner}" if owner else self._name

    def write(self, sessions: SessionStore) -> None:
        """Write the queued calls. On a MemoryRoomError they stay queued."""
        with self._lock:
            calls = tuple(self.waiting)
        for agent, session_id in dict.fromkeys((one.agent, one.session_id) for one in calls):
            of_one = [one for one in calls if (one.agent, one.session_id) == (agent, session_id)]
            records = _list_records(session_id, self.folder, of_one)
            sessions.record(agent, records, owner=name_owner(of_one[0].holder))
            self._written.add((agent, session_id))
        written = {one.number for one in calls}
        with self._lock:  # keep calls that were added since
            self.waiting[:] = [one for one in self.waiting if one.number not in written]

    def end(self, sessions: SessionStore, owner: str | None = None) -> None:
        """Write the queued calls, and record that their sessions ended with the server, or those of
        one client that is gone. Raise MemoryRoomError if they cannot be written."""
        from memory.sessions import SessionRecord  # noqa: PLC0415

        self.write(sessions)
        of_owner = None if owner is None else self._name_session(owner)
        ending = {one for one in self._written if of_owner in (None, one[1])}
        self._written -= ending
        for agent, session_id in sorted(ending):
            ended = SessionRecord(session_id, ended_at=time.time(), end_reason=ENDED)
            sessions.record(agent, [ended], is_new=False)

    @property
    def is_empty(self) -> bool:
        """Return whether no call was recorded or is queued."""
        return not (self.waiting or self._written)


@lru_cache(CLIENTS_REMEMBERED)
def _find_agent(client: str) -> str:
    """Return the agent whose calls are recorded; empty if its host writes a transcript itself."""
    return "" if find_host(client) else name_agent(client)


def name_owner(holder: str) -> str:
    """Return the owner of a session that a token's holder recorded; empty means the user."""
    return f"token:{holder}" if holder else ""


def _list_records(session_id: str, folder: str, calls: Sequence[SessionCall]) -> list[Record]:
    from memory.sessions import MessageRecord, SessionRecord  # noqa: PLC0415

    records: list[Record] = [SessionRecord(session_id, working_directory=folder)]
    for call in calls:
        key = f"{call.number}:{call.tool}"
        records += (
            MessageRecord(
                key, key, "tool_call", at=call.at, tool=call.tool, params=call.params, call_id=key
            ),
            MessageRecord(
                f"{key}:result",
                f"{key}:result",
                "tool_result",
                call.error,
                call.at,
                tool=call.tool,
                call_id=key,
                failed=bool(call.error),
            ),
        )
    return records
