"""Reading of stored sessions."""

# ruff: noqa: S608 - statements contain only names fixed in this file and placeholders

from __future__ import annotations

import json
import operator
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from memory.sessions.model import (
    Message,
    Session,
    SourceStatus,
    Status,
    TokenCount,
    ToolCount,
    UnknownSessionError,
    compute_status,
)
from memory.sessions.sources import UNDECIDED
from memory.texts import unpack

CANDIDATES_NAMED = 5

_SESSION = """
SELECT id, agent, host_id, owner, parent_id, relation, title, agent_version, source_path,
    working_directory, project_name, git_branch, status, messages, tool_calls, input_tokens,
    output_tokens, compactions, summary, metadata,
    COALESCE(started_at, created_at) AS started_at, last_at, ended_at, end_reason,
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


def list_sessions(  # noqa: PLR0913 - one each
    db: sqlite3.Connection,
    *,
    agent: str = "",
    status: str = "",
    limit: int | None = 20,
    now: float | None = None,
    owners: Sequence[str] = (),
) -> list[Session]:
    """List sessions, the latest activity first; optionally of an agent, a status or some owners."""
    rows = _rows(
        db,
        f"{_SESSION} WHERE {_of(owners)} AND (? = '' OR agent = ?) ORDER BY last_at DESC",
        *owners,
        agent,
        agent,
    )
    found = []
    for row in rows:
        session = _session(db, row, time.time() if now is None else now)
        if not status or session.status == status:
            found.append(session)
        if limit is not None and len(found) >= limit:
            break
    return found


def find_session(
    db: sqlite3.Connection, wanted: str, *, now: float | None = None, owners: Sequence[str] = ()
) -> Session:
    """Find the session with an id, a host's id, or a unique prefix of either; optionally only among
    those of some owners.

    Raises:
        UnknownSessionError: no session or several match; the message names them.
    """
    latest = list_sessions(db, limit=CANDIDATES_NAMED, now=now, owners=owners)
    return choose_session(wanted, find_likely(db, wanted, now=now, owners=owners), latest)


def find_likely(
    db: sqlite3.Connection, wanted: str, *, now: float | None = None, owners: Sequence[str] = ()
) -> tuple[Session, ...]:
    """Find the sessions that an id may mean, the latest activity first; none for an empty id."""
    now = time.time() if now is None else now
    wanted = wanted.encode(errors="replace").decode()  # on a command line it may not be text
    for condition in ("id = ?1 OR host_id = ?1", "instr(id, ?1) = 1 OR instr(host_id, ?1) = 1"):
        of = f"({condition}) AND ?1 <> '' AND {_of(owners)}"
        rows = _rows(db, f"{_SESSION} WHERE {of} ORDER BY last_at DESC", wanted, *owners)
        if found := [_session(db, row, now) for row in rows]:
            return tuple(found)
    return ()


def choose_session(wanted: str, likely: Sequence[Session], latest: Sequence[Session]) -> Session:
    """Return the only session of those that an id may mean.

    Raises:
        UnknownSessionError: none matches, and the message names the latest; or several match,
            and it names them.
    """
    likely = [one for one in likely if wanted in (one.id, one.host_id)] or likely
    if len(likely) == 1:
        return likely[0]
    names = ", ".join(one.id for one in (likely or latest)[:CANDIDATES_NAMED])
    if likely:
        raise UnknownSessionError(
            f"several sessions match {wanted!r}: {names}", "Use a longer part of the ID."
        )
    remedy = f"Choose from: {names}. List all: context-mode sessions list"
    raise UnknownSessionError(
        f"no session {wanted!r}", remedy if names else "Read them: context-mode sessions track"
    )


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
    """Read a session's compactions, the latest first."""
    rows = _rows(db, f"{_MESSAGE} AND is_compaction ORDER BY sequence DESC", session_id)
    return [_message(row) for row in rows]


def read_all_compactions(db: sqlite3.Connection, *, agent: str = "") -> list[dict[str, Any]]:
    """Read the compactions of all sessions, or of an agent's, the latest first: each with its
    session, its message's number and time, its trigger, its tokens before and after, and the
    summary that the host stored."""
    rows = _rows(
        db,
        "SELECT s.id AS session_id, s.agent, s.title, m.sequence, m.at,"
        " m.compaction_trigger AS trigger, m.tokens_before, m.tokens_after,"
        " m.compaction_summary AS summary FROM message m JOIN session s ON s.id = m.session_id"
        " WHERE m.is_compaction AND ?1 IN ('', s.agent) ORDER BY m.at DESC, s.id, m.sequence DESC",
        agent,
    )
    return [dict(row) | {"summary": unpack(row["summary"])} for row in rows]


def read_states(
    db: sqlite3.Connection, *, now: float | None = None
) -> list[tuple[str, str, Status]]:
    """Read the id, the agent and the status of all sessions."""
    rows = db.execute(
        "SELECT id, agent, status, summary <> '', last_at, ended_at FROM session ORDER BY id"
    )
    now = time.time() if now is None else now
    return [
        (
            session_id,
            agent,
            compute_status(
                by_hand, has_summary=bool(summed), last_at=last_at, ended_at=ended_at, now=now
            ),
        )
        for session_id, agent, by_hand, summed, last_at, ended_at in rows
    ]


def read_tool_counts(
    db: sqlite3.Connection, *, session_id: str = "", agent: str = ""
) -> list[ToolCount]:
    """Count the calls of each tool in each session, or in one, or in those of an agent."""
    where = "?1 IN ('', m.session_id) AND ?2 IN ('', s.agent)"
    of_session = "FROM message m JOIN session s ON s.id = m.session_id"
    tokens = {
        (session, tool): (responses, output)
        for session, tool, responses, output in db.execute(
            "SELECT session_id, tool_name, COUNT(*), SUM(output) FROM (SELECT DISTINCT"
            f" m.session_id, m.tool_name, m.group_key, u.output {of_session} JOIN usage u"
            f" ON u.session_id = m.session_id AND u.group_key = m.group_key WHERE {where}"
            " AND m.role = 'tool_call' AND u.output IS NOT NULL) GROUP BY 1, 2",
            (session_id, agent),
        )
    }
    rows = db.execute(
        "SELECT m.session_id, m.tool_name, SUM(m.role = 'tool_call'),"
        f" SUM(m.role = 'tool_result' AND m.is_error) {of_session} WHERE {where}"
        " AND m.tool_name IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2",
        (session_id, agent),
    )
    return [
        (session, tool, (calls, errors, *tokens.get((session, tool), (0, 0))))
        for session, tool, calls, errors in rows
    ]


def read_tool_uses(db: sqlite3.Connection, session_ids: Sequence[str]) -> list[dict[str, Any]]:
    """Count the calls of each tool in some sessions, the most used first."""
    counts = (read_tool_counts(db, session_id=one) for one in session_ids)
    return sum_tool_counts(chain.from_iterable(counts))


def sum_tool_counts(counts: Iterable[ToolCount]) -> list[dict[str, Any]]:
    """Add up the calls of each tool, the most used first, with the average output tokens of
    responses with such calls; None if none are recorded."""
    sums: dict[str, list[int]] = {}
    for _, tool, numbers in counts:
        sums[tool] = list(map(operator.add, sums.get(tool, [0] * 4), numbers))
    uses = [
        {
            "tool": tool,
            "calls": calls,
            "errors": errors,
            "average_output_tokens": output / responses if responses else None,
        }
        for tool, (calls, errors, responses, output) in sums.items()
    ]
    return sorted(uses, key=lambda use: (-use["calls"], use["tool"]))


def read_token_counts(db: sqlite3.Connection) -> list[TokenCount]:
    """Sum the tokens of each session by model and day."""
    rows = db.execute(
        "SELECT u.session_id, s.agent, u.model, COALESCE(date(u.at, 'unixepoch'), ''), COUNT(*),"
        " SUM(u.input), SUM(u.output), SUM(u.cache_read), SUM(u.cache_write), SUM(u.reasoning)"
        " FROM usage u JOIN session s ON s.id = u.session_id GROUP BY 1, 3, 4 ORDER BY 1, 3, 4"
    )
    return [TokenCount(*row) for row in rows]


def sum_tokens_by_day(db: sqlite3.Connection, *, since: float) -> list[TokenCount]:
    """Sum the tokens of all sessions by day and model, from a given time."""
    rows = db.execute(
        "SELECT '', '', model, date(at, 'unixepoch'), COUNT(*), SUM(input), SUM(output),"
        " SUM(cache_read), SUM(cache_write), SUM(reasoning) FROM usage WHERE at >= ?"
        " GROUP BY 3, 4 ORDER BY 4, 3",
        (since,),
    )
    return [TokenCount(*row) for row in rows]


def count_sessions(db: sqlite3.Connection) -> int:
    """Count the sessions of a store."""
    return int(db.execute("SELECT COUNT(*) FROM session").fetchone()[0])


def read_sources(db: sqlite3.Connection) -> list[SourceStatus]:
    """Read how much of each transcript is read."""
    rows = _rows(
        db,
        "SELECT agent, path, size, offset AS read, messages, bad_lines, elsewhere, problem, seen_at"
        " FROM source ORDER BY agent, path",
    )
    return [
        SourceStatus(
            **{**row, "elsewhere": bool(row["elsewhere"])},
            is_undecided=row["elsewhere"] == UNDECIDED,
        )
        for row in map(dict, rows)
    ]


def _of(owners: Sequence[str]) -> str:
    """Return the SQL condition for sessions of some owners; without owners, of all."""
    return f"owner IN ({','.join('?' * len(owners))})" if owners else "1"


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
