"""Reading sessions a screen at a time, however many there are: by pages, and each by its index."""

from __future__ import annotations

import sqlite3
import time
from typing import NamedTuple

from memory.sessions.model import Status, compute_status

DAY_S = 86_400


class SessionRow(NamedTuple):
    """A session in a list. Times are seconds since the epoch; None is not recorded."""

    id: str
    agent: str
    title: str
    status: Status
    relation: str
    started_at: float | None
    last_at: float | None
    turns: int
    tool_calls: int
    input_tokens: int | None
    output_tokens: int | None
    compactions: int


class EventRow(NamedTuple):
    """One thing that happened in a session."""

    turn: int
    at: float | None
    category: str
    text: str
    state: str


class TouchedFile(NamedTuple):
    """A file, and how often a session did one thing to it."""

    path: str
    action: str
    times: int
    last_at: float | None


class CompactionRow(NamedTuple):
    """Where a session was compacted."""

    at: float | None
    trigger: str | None
    tokens_before: int | None
    tokens_after: int | None


class SnapshotRow(NamedTuple):
    """A snapshot that was made for a compaction; `delivered_at` is when an agent got it."""

    at: float
    trigger: str
    bytes: int
    delivered_at: float | None


class DayTokens(NamedTuple):
    """The tokens of one model on one day, in days since the epoch; None is not recorded."""

    day: int
    model: str
    input: int | None
    output: int | None
    cache_read: int | None
    cache_write: int | None


def list_rows(
    db: sqlite3.Connection, *, offset: int, limit: int, now: float | None = None
) -> list[SessionRow]:
    """List sessions, the latest activity first."""
    now = time.time() if now is None else now
    rows = db.execute(
        "SELECT id, agent, title, status, summary <> '', ended_at, relation,"
        " COALESCE(started_at, created_at), last_at, turn, tool_calls, input_tokens,"
        " output_tokens, compactions FROM session ORDER BY last_at DESC LIMIT ? OFFSET ?",
        (limit, offset),
    )
    found = []
    for session_id, agent, title, by_hand, summed, ended_at, relation, started_at, *rest in rows:
        status = compute_status(
            by_hand, has_summary=bool(summed), last_at=rest[0], ended_at=ended_at, now=now
        )
        found.append(SessionRow(session_id, agent, title, status, relation, started_at, *rest))
    return found


def count_events(db: sqlite3.Connection, session_id: str) -> int:
    """Count what is kept of what happened in a session."""
    row = db.execute("SELECT COUNT(*) FROM event WHERE session_id = ?", (session_id,)).fetchone()
    return int(row[0])


def list_events(
    db: sqlite3.Connection, session_id: str, *, offset: int, limit: int
) -> list[EventRow]:
    """List what happened in a session, in order."""
    rows = db.execute(
        "SELECT turn, at, category, text, state FROM event WHERE session_id = ?"
        " ORDER BY id LIMIT ? OFFSET ?",
        (session_id, limit, offset),
    )
    return [EventRow(*row) for row in rows]


def list_files(db: sqlite3.Connection, session_id: str, *, limit: int) -> list[TouchedFile]:
    """List the files of a session that it did not only read, the latest first, then the others."""
    rows = db.execute(
        "SELECT path, action, count, last_at FROM file_touch WHERE session_id = ?"
        " ORDER BY action = 'read', last_at DESC, path LIMIT ?",
        (session_id, limit),
    )
    return [TouchedFile(*row) for row in rows]


def list_compactions(db: sqlite3.Connection, session_id: str) -> list[CompactionRow]:
    """List where a session was compacted, the latest first."""
    rows = db.execute(
        "SELECT at, compaction_trigger, tokens_before, tokens_after FROM message"
        " WHERE session_id = ? AND is_compaction ORDER BY sequence DESC",
        (session_id,),
    )
    return [CompactionRow(*row) for row in rows]


def list_snapshots(db: sqlite3.Connection, session_id: str) -> list[SnapshotRow]:
    """List the snapshots of a session, the latest first."""
    rows = db.execute(
        'SELECT at, "trigger", bytes, delivered_at FROM snapshot WHERE session_id = ?'
        " ORDER BY id DESC",
        (session_id,),
    )
    return [SnapshotRow(*row) for row in rows]


def list_tools(
    db: sqlite3.Connection, session_id: str, *, limit: int
) -> list[tuple[str, int, int]]:
    """Count a session's calls of each tool, and those that failed; the most used first."""
    rows = db.execute(
        "SELECT tool_name, SUM(role = 'tool_call'), SUM(role = 'tool_result' AND is_error)"
        " FROM message WHERE session_id = ? AND tool_name IS NOT NULL"
        " GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ?",
        (session_id, limit),
    )
    return rows.fetchall()


def sum_tokens_by_day(db: sqlite3.Connection, *, since: float) -> list[DayTokens]:
    """Sum the tokens of all sessions by day (UTC) and model, from a time on."""
    rows = db.execute(
        f"SELECT CAST(at / {DAY_S} AS INTEGER), model, SUM(input), SUM(output), SUM(cache_read),"  # noqa: S608 - a number of this file
        " SUM(cache_write) FROM usage WHERE at >= ? GROUP BY 1, 2 ORDER BY 1, 2",
        (since,),
    )
    return [DayTokens(*row) for row in rows]
