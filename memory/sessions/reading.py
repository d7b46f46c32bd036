"""Reading what is kept of sessions."""

# ruff: noqa: S608 - only names fixed in this file and placeholders are put into statements

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator, Sequence

from memory.sessions.errors import UnknownSessionError
from memory.sessions.events import Event
from memory.sessions.model import Message, Session, SourceStatus, Tokens, ToolUse, compute_status
from memory.sessions.texts import unpack

CANDIDATES_NAMED = 5
TOKENS_BY = ("model", "day", "agent", "session")

_SESSION = """
SELECT id, agent, host_id, owner, parent_id, relation, title, agent_version, source_path,
    working_directory, project_name, git_branch, status, messages, tool_calls, input_tokens,
    output_tokens, compactions, summary, metadata, started_at, last_at, ended_at, end_reason,
    pinned, turn,
    (SELECT SUM(cache_read) FROM usage WHERE session_id = session.id) AS cache_read_tokens,
    (SELECT SUM(cache_write) FROM usage WHERE session_id = session.id) AS cache_write_tokens,
    (SELECT SUM(reasoning) FROM usage WHERE session_id = session.id) AS reasoning_tokens
FROM session"""
_MESSAGE = """
SELECT sequence, step, turn, role, at, content, content_bytes, is_cut, tool_name, tool_params,
    exit_code, is_error, subagent, skill, model, images, thinking_bytes, output_id, is_compaction,
    compaction_summary, compaction_trigger, tokens_before, tokens_after
FROM message WHERE session_id = ?"""


def list_sessions(
    db: sqlite3.Connection,
    *,
    agent: str = "",
    status: str = "",
    limit: int | None = 20,
    now: float | None = None,
) -> list[Session]:
    """List sessions, the latest activity first; of an agent and a status where they are given."""
    rows = _rows(db, f"{_SESSION} WHERE (? = '' OR agent = ?) ORDER BY last_at DESC", agent, agent)
    found = []
    for row in rows:
        session = _session(db, row, time.time() if now is None else now)
        if not status or session.status == status:
            found.append(session)
        if limit is not None and len(found) >= limit:
            break
    return found


def find_session(db: sqlite3.Connection, wanted: str, *, now: float | None = None) -> Session:
    """Find the session with an id, with an id of its host, or the only one that begins so.

    Raises:
        UnknownSessionError: there is none, or several, which the message names.
    """
    now = time.time() if now is None else now
    exact = list(_rows(db, f"{_SESSION} WHERE id = ? OR host_id = ?", wanted, wanted))
    if len(exact) == 1:
        return _session(db, exact[0], now)
    likely = exact or list(
        _rows(
            db,
            f"{_SESSION} WHERE (instr(id, ?) = 1 OR instr(host_id, ?) = 1) AND ? <> ''"
            " ORDER BY last_at DESC",
            wanted,
            wanted,
            wanted,
        )
    )
    if len(likely) == 1:
        return _session(db, likely[0], now)
    named = likely or list(_rows(db, f"{_SESSION} ORDER BY last_at DESC LIMIT {CANDIDATES_NAMED}"))
    names = ", ".join(str(row["id"]) for row in named[:CANDIDATES_NAMED])
    if likely:
        raise UnknownSessionError(
            f"{wanted!r} may be any of {names}", "Give more of the id.", is_ambiguous=True
        )
    there = f"The latest are {names}." if names else "None is kept yet."
    raise UnknownSessionError(f"no session {wanted!r} is kept", there)


def read_messages(
    db: sqlite3.Connection, session_id: str, *, first: int = 1, last: int | None = None
) -> Iterator[Message]:
    """Yield messages in order, between two sequence numbers."""
    rows = _rows(
        db,
        f"{_MESSAGE} AND sequence >= ? AND sequence <= ? ORDER BY sequence, step",
        session_id,
        first,
        1 << 62 if last is None else last,
    )
    return map(_message, rows)


def read_compactions(db: sqlite3.Connection, session_id: str) -> list[Message]:
    """Read the points at which a session was compacted, the latest first."""
    rows = _rows(db, f"{_MESSAGE} AND is_compaction ORDER BY sequence DESC", session_id)
    return [_message(row) for row in rows]


def read_events(db: sqlite3.Connection, session_id: str) -> list[Event]:
    """Read a session's events in order."""
    rows = db.execute(
        "SELECT category, text, target, state FROM event WHERE session_id = ? ORDER BY id",
        (session_id,),
    )
    return [Event(*row) for row in rows]


def read_tool_uses(db: sqlite3.Connection, session_ids: Sequence[str]) -> list[ToolUse]:
    """Count the calls of each tool over some sessions, the most used first."""
    marks = ",".join("?" * len(session_ids))
    rows = db.execute(
        "SELECT tool_name, SUM(role = 'tool_call'), SUM(role = 'tool_result' AND is_error)"
        f" FROM message WHERE session_id IN ({marks}) AND tool_name IS NOT NULL"
        " GROUP BY tool_name ORDER BY 2 DESC, tool_name",
        tuple(session_ids),
    )
    averages = _average_tokens(db, session_ids)
    return [ToolUse(tool, calls, errors or 0, averages.get(tool)) for tool, calls, errors in rows]


def _average_tokens(db: sqlite3.Connection, session_ids: Sequence[str]) -> dict[str, float]:
    """Average the output tokens of the responses with a call of each tool."""
    marks = ",".join("?" * len(session_ids))
    rows = db.execute(
        "SELECT tool_name, AVG(output) FROM (SELECT DISTINCT m.tool_name, m.session_id,"
        " m.group_key, u.output FROM message m JOIN usage u ON u.session_id = m.session_id"
        f" AND u.group_key = m.group_key WHERE m.session_id IN ({marks}) AND m.role = 'tool_call'"
        " AND u.output IS NOT NULL) GROUP BY tool_name",
        tuple(session_ids),
    )
    return {str(tool): float(average) for tool, average in rows}


def read_tokens(
    db: sqlite3.Connection, by: str = "", session_ids: Sequence[str] | None = None
) -> list[Tokens]:
    """Sum tokens by model, day (UTC), agent or session, or of all; None is not recorded."""
    key = {
        "": "''",
        "model": "model",
        "day": "COALESCE(date(at, 'unixepoch'), '')",
        "agent": "agent",
        "session": "session_id",
    }[by]
    where = "1"
    if session_ids is not None:
        where = f"session_id IN ({','.join('?' * len(session_ids))})"
    rows = db.execute(
        f"SELECT {key}, COUNT(*), SUM(input), SUM(output), SUM(cache_read), SUM(cache_write),"
        " SUM(reasoning) FROM (SELECT u.*, s.agent FROM usage u"
        f" JOIN session s ON s.id = u.session_id) WHERE {where} GROUP BY 1 ORDER BY 1",
        tuple(session_ids or ()),
    )
    return [Tokens(*row) for row in rows]


def read_sources(db: sqlite3.Connection) -> list[SourceStatus]:
    """Read how far each transcript is read."""
    rows = db.execute(
        "SELECT agent, path, size, offset, messages, bad_lines, elsewhere, problem, seen_at"
        " FROM source ORDER BY agent, path"
    )
    return [
        SourceStatus(agent, path, size, read, messages, bad, bool(elsewhere), problem, seen_at)
        for agent, path, size, read, messages, bad, elsewhere, problem, seen_at in rows
    ]


def _rows(db: sqlite3.Connection, sql: str, *values: object) -> Iterator[sqlite3.Row]:
    cursor = db.cursor()
    cursor.row_factory = sqlite3.Row
    return iter(cursor.execute(sql, values))


def _session(db: sqlite3.Connection, row: sqlite3.Row, now: float) -> Session:
    values = dict(row)
    files: dict[str, tuple[str, ...]] = {"modified": (), "created": (), "deleted": ()}
    for path, action in db.execute(
        "SELECT path, action FROM file_touch WHERE session_id = ? AND action <> 'read'"
        " ORDER BY path",
        (values["id"],),
    ):
        files[action] = (*files.get(action, ()), path)
    values["status"] = compute_status(
        values["status"],
        has_summary=bool(values["summary"]),
        last_at=values["last_at"],
        ended_at=values["ended_at"],
        now=now,
    )
    values["metadata"] = json.loads(values["metadata"])
    values["pinned"] = bool(values["pinned"])
    values["turns"] = values.pop("turn")
    return Session(**values, files=files)


def _message(row: sqlite3.Row) -> Message:
    values = dict(row)
    for name in ("content", "compaction_summary", "tool_params"):
        values[name] = unpack(values[name])
    if values["tool_params"] is not None:
        values["tool_params"] = json.loads(values["tool_params"])
    for name in ("is_cut", "is_error", "is_compaction"):
        values[name] = bool(values[name])
    return Message(**values)
