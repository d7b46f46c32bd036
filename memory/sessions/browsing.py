"""Reading sessions a screen at a time, however many there are: by pages, and each by its index."""

from __future__ import annotations

import sqlite3
import time
from typing import Any

from memory.sessions.model import compute_status

Row = dict[str, Any]
"""A row by the names of its columns. Times are seconds since the epoch; None is not recorded."""


def list_rows(
    db: sqlite3.Connection, *, offset: int, limit: int, now: float | None = None
) -> list[Row]:
    """List sessions, the latest activity first."""
    now = time.time() if now is None else now
    rows = _read(
        db,
        "SELECT id, agent, title, status, relation, COALESCE(started_at, created_at) AS started_at,"
        " last_at, turn AS turns, tool_calls, input_tokens, output_tokens, compactions,"
        " summary <> '' AS has_summary, ended_at"
        " FROM session ORDER BY last_at DESC LIMIT ? OFFSET ?",
        (limit, offset),
    )
    for row in rows:
        row["status"] = compute_status(
            row["status"],
            has_summary=bool(row.pop("has_summary")),
            last_at=row["last_at"],
            ended_at=row.pop("ended_at"),
            now=now,
        )
    return rows


def count_events(db: sqlite3.Connection, session_id: str) -> int:
    """Count what is kept of what happened in a session."""
    row = db.execute("SELECT COUNT(*) FROM event WHERE session_id = ?", (session_id,)).fetchone()
    return int(row[0])


def list_events(db: sqlite3.Connection, session_id: str, *, offset: int, limit: int) -> list[Row]:
    """List what happened in a session, in order."""
    return _read(
        db,
        "SELECT turn, at, category, text, state FROM event WHERE session_id = ?"
        " ORDER BY id LIMIT ? OFFSET ?",
        (session_id, limit, offset),
    )


def list_files(db: sqlite3.Connection, session_id: str, *, limit: int) -> list[Row]:
    """List the files of a session and how often it did one thing to each: the latest first, those
    that it only read after the others."""
    return _read(
        db,
        "SELECT path, action, count AS times, last_at FROM file_touch WHERE session_id = ?"
        " ORDER BY action = 'read', last_at DESC, path LIMIT ?",
        (session_id, limit),
    )


def list_compactions(db: sqlite3.Connection, session_id: str) -> list[Row]:
    """List where a session was compacted, the latest first."""
    return _read(
        db,
        'SELECT at, compaction_trigger AS "trigger", tokens_before, tokens_after FROM message'
        " WHERE session_id = ? AND is_compaction ORDER BY sequence DESC",
        (session_id,),
    )


def list_snapshots(db: sqlite3.Connection, session_id: str) -> list[Row]:
    """List the snapshots of a session, the latest first; `delivered_at` is when an agent got it."""
    return _read(
        db,
        'SELECT at, "trigger", bytes, delivered_at FROM snapshot WHERE session_id = ?'
        " ORDER BY id DESC",
        (session_id,),
    )


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


def _read(db: sqlite3.Connection, sql: str, values: tuple[str | int, ...]) -> list[Row]:
    found = db.execute(sql, values)
    names = [column[0] for column in found.description]
    return [dict(zip(names, row, strict=True)) for row in found]
