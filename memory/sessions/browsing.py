"""Listings of sessions by page, and the indexing of turns, for any number of sessions."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from typing import Any

from memory.sessions.events import COMMANDS
from memory.sessions.model import compute_status
from memory.texts import cut_bytes, unpack

# Without full texts, a turn is described by its events. It never has outputs of tools: those are
# found where they are stored, and here by the head of their errors.

TURN_BYTES_MAX = 4096
LABEL_ID_CHARS = 8
_WORDS = {
    "file_edit": "edited",
    "file_read": "read",
    "fetch": "fetched",
    "search": "searched",
    "constraint": "the user's rule:",
    "decision": "the user's decision:",
    "rejected": "the user ruled out:",
    "task": "task:",
    "subagent": "subagent:",
    "plan": "plan:",
    "denied": "denied:",
}


TurnState = tuple[str, int, int]
"""A turn's session, its number, and its number of changes, which identifies a state of it."""

ChangedTurn = tuple[TurnState, float | None, str]
"""A turn that changed since it was indexed, with its time and its label."""


def list_changed_turns(db: sqlite3.Connection, limit: int) -> list[ChangedTurn]:
    """List the turns to index, the latest sessions first. Events before any prompt are turn 0."""
    rows = db.execute(
        "SELECT t.session_id, t.number, t.at, t.changed, s.agent, s.host_id FROM turn t"
        " JOIN session s ON s.id = t.session_id WHERE t.changed"
        " ORDER BY s.last_at DESC, t.number LIMIT ?",
        (limit,),
    ).fetchall()
    return [
        ((session_id, number, changes), at, f"{_label(db, agent, host_id)}#{number}")
        for session_id, number, at, changes, agent, host_id in rows
    ]


def count_changed_turns(db: sqlite3.Connection) -> int:
    """Count the turns to index."""
    return int(db.execute("SELECT count(*) FROM turn WHERE changed").fetchone()[0])


def mark_all_changed(db: sqlite3.Connection) -> None:
    """Mark all turns for indexing, since the index was lost."""
    db.execute("UPDATE turn SET changed = 1 WHERE changed = 0")


def mark_indexed(db: sqlite3.Connection, state: TurnState) -> None:
    """Note that a turn was indexed, unless it has changed since it was read."""
    db.execute(
        "UPDATE turn SET changed = 0 WHERE session_id = ? AND number = ? AND changed = ?",
        state,
    )


def read_turn(
    db: sqlite3.Connection, session_id: str, number: int, bytes_max: int = TURN_BYTES_MAX
) -> str:
    """Read the text of a turn; empty if it has nothing worth finding."""
    lines, size = list[str](), 0
    for line in _lines(db, session_id, number):
        room = bytes_max - size
        if room <= 8:
            break
        shown = cut_bytes(line, room - 1)
        lines.append(shown)
        size += len(shown.encode()) + 1
    return "\n".join(dict.fromkeys(lines))


def _lines(db: sqlite3.Connection, session_id: str, number: int) -> Iterator[str]:
    texts = db.execute(
        "SELECT role, content FROM message WHERE session_id = ? AND turn = ?"
        " AND role IN ('user', 'assistant') AND content IS NOT NULL ORDER BY sequence, step",
        (session_id, number),
    ).fetchall()
    yield from (text for role, data in texts if role == "user" and (text := unpack(data) or ""))
    rows = db.execute(
        "SELECT category, text, target FROM event WHERE session_id = ? AND turn = ? ORDER BY id",
        (session_id, number),
    )
    for category, text, target in rows:
        if category == "prompt":
            if not texts:
                yield text
        elif category in COMMANDS:
            yield f"$ {text}"
        elif category == "error":
            yield f"error of {target.removeprefix('$ ')}: {text}"
        elif category in _WORDS:
            yield f"{_WORDS[category]} {text}"
    yield from (
        text for role, data in texts if role == "assistant" and (text := unpack(data) or "")
    )


def _label(db: sqlite3.Connection, agent: str, host_id: str) -> str:
    """Name a session by the beginning of its id, if that is unique."""
    short = host_id[:LABEL_ID_CHARS]
    count = db.execute(
        "SELECT COUNT(*) FROM session WHERE agent = ? AND instr(host_id, ?) = 1", (agent, short)
    ).fetchone()[0]
    return f"session:{agent}:{short if count < 2 else host_id}"


Row = dict[str, Any]
"""A row by the names of its columns. Times are seconds since the epoch; None is unrecorded."""


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
    """Count the stored events of a session."""
    row = db.execute("SELECT COUNT(*) FROM event WHERE session_id = ?", (session_id,)).fetchone()
    return int(row[0])


def list_events(db: sqlite3.Connection, session_id: str, *, offset: int, limit: int) -> list[Row]:
    """List the events of a session, in order."""
    return _read(
        db,
        "SELECT turn, at, category, text, state FROM event WHERE session_id = ?"
        " ORDER BY id LIMIT ? OFFSET ?",
        (session_id, limit, offset),
    )


def list_files(db: sqlite3.Connection, session_id: str, *, limit: int) -> list[Row]:
    """List the files of a session with the number of each action: the latest first, files that were
    only read last."""
    return _read(
        db,
        "SELECT path, action, count AS times, last_at FROM file_touch WHERE session_id = ?"
        " ORDER BY action = 'read', last_at DESC, path LIMIT ?",
        (session_id, limit),
    )


def list_compactions(db: sqlite3.Connection, session_id: str) -> list[Row]:
    """List the compactions of a session, the latest first."""
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
    """Count a session's calls of each tool, and the failed ones; the most used first."""
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
