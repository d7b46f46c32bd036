"""News of a session for an agent: events, snapshot, and notices at its start.

A snapshot is given to an agent once. Hooks load this, so nothing else is here.
"""

from __future__ import annotations

import os
import sqlite3

from memory.sessions.events import Event
from memory.texts import cut_bytes, pack, unpack

FILES_LOOKED_AT = 200


def tell_open_tasks(db: sqlite3.Connection, branch: str, since: float, bytes_max: int) -> str:
    """Describe the latest session of a branch that ended with open tasks; empty if none did."""
    row = db.execute(
        "SELECT s.id, s.host_id, COUNT(*), MAX(e.text) FROM session s"
        " JOIN event e ON e.session_id = s.id AND e.category = 'task' AND e.state = 'open'"
        " WHERE s.last_at >= ? AND s.relation <> 'subagent' AND (s.git_branch = ? OR ? = '')"
        " GROUP BY s.id ORDER BY s.last_at DESC LIMIT 1",
        (since, branch, branch),
    ).fetchone()
    if row is None:
        return ""
    tasks = "1 open task" if row[2] == 1 else f"{row[2]} open tasks"
    text = f"context-mode: session {row[1][:36]} left {tasks}, such as: {row[3]}"
    return cut_bytes(text, bytes_max)


def tell_waiting(db: sqlite3.Connection, before: float) -> str:
    """Describe how many completed sessions await a summary; empty if none do."""
    count = db.execute(
        "SELECT COUNT(*) FROM session WHERE summary = '' AND relation <> 'subagent'"
        " AND messages > 0 AND (status = 'completed'"
        " OR status = '' AND (COALESCE(last_at, 0) < ? OR ended_at >= COALESCE(last_at, 0)))",
        (before,),
    ).fetchone()[0]
    if not count:
        return ""
    sessions = "1 session awaits" if count == 1 else f"{count} sessions await"
    return f'context-mode: {sessions} a summary: ctx_session {{"about":"queue"}}'


def tell_changed_files(db: sqlite3.Connection, session_id: str, bytes_max: int) -> str:
    """Name the files of a session that changed since its last activity; empty if none did."""
    row = db.execute(
        "SELECT working_directory, last_at FROM session WHERE id = ?", (session_id,)
    ).fetchone()
    if row is None or not row[0] or row[1] is None:
        return ""
    paths = db.execute(
        "SELECT DISTINCT path FROM file_touch WHERE session_id = ? ORDER BY last_at DESC LIMIT ?",
        (session_id, FILES_LOOKED_AT),
    )
    changed = [path for (path,) in paths if _changed_since(row[0], path, row[1])]
    if not changed:
        return ""
    head = "context-mode: changed since this session's last activity: "
    text = head + changed[0]
    for path in changed[1:]:
        if len(f"{text}, {path}".encode()) > bytes_max:
            break
        text = f"{text}, {path}"
    return cut_bytes(text, bytes_max)


def _changed_since(folder: str, path: str, at: float) -> bool:
    try:
        return os.stat(os.path.join(folder, os.path.expanduser(path))).st_mtime > at + 1
    except (OSError, ValueError):
        return False


def read_prompts(db: sqlite3.Connection, session_id: str) -> dict[int, str]:
    """Read the requests of a session by turn number, cut like events."""
    rows = db.execute(
        "SELECT turn, text FROM event WHERE session_id = ? AND category = 'prompt' ORDER BY id",
        (session_id,),
    )
    return {int(turn): str(text) for turn, text in rows}


def read_events(db: sqlite3.Connection, session_id: str) -> list[Event]:
    """Read a session's events in order."""
    rows = db.execute(
        "SELECT category, text, target, state FROM event WHERE session_id = ? ORDER BY id",
        (session_id,),
    )
    return [Event(*row) for row in rows]


SNAPSHOTS_KEPT = 10
"""Snapshots stored of each session."""


def save_snapshot(
    db: sqlite3.Connection, session_id: str, text: str, *, trigger: str, at: float
) -> None:
    """Store a snapshot to be delivered; older ones are no longer delivered."""
    db.execute(
        "INSERT INTO snapshot (session_id, at, trigger, bytes, text, compactions)"
        " SELECT id, ?, ?, ?, ?, compactions FROM session WHERE id = ?",
        (at, trigger, len(text.encode()), pack(text), session_id),
    )
    db.execute(
        "DELETE FROM snapshot WHERE session_id = ?1 AND id NOT IN"
        " (SELECT id FROM snapshot WHERE session_id = ?1 ORDER BY id DESC LIMIT ?2)",
        (session_id, SNAPSHOTS_KEPT),
    )


def find_waiting(db: sqlite3.Connection, session_id: str) -> tuple[int, str] | None:
    """Find the waiting snapshot of a session: its number and its text."""
    row = db.execute(
        "SELECT id, text, delivered_at FROM snapshot WHERE session_id = ? ORDER BY id DESC LIMIT 1",
        (session_id,),
    ).fetchone()
    return None if row is None or row[2] is not None else (int(row[0]), unpack(row[1]) or "")


def mark_delivered(db: sqlite3.Connection, number: int, at: float) -> bool:
    """Mark a snapshot as delivered; return whether it was still waiting."""
    changed = db.execute(
        "UPDATE snapshot SET delivered_at = ? WHERE id = ? AND delivered_at IS NULL", (at, number)
    )
    return changed.rowcount == 1


def was_delivered_since(db: sqlite3.Connection, session_id: str, at: float) -> bool:
    """Return whether a snapshot of a session was delivered after a time."""
    row = db.execute(
        "SELECT MAX(delivered_at) FROM snapshot WHERE session_id = ?", (session_id,)
    ).fetchone()
    return row[0] is not None and row[0] >= at


def was_compacted(db: sqlite3.Connection, session_id: str) -> bool:
    """Return whether a session has more compactions than when a snapshot was last delivered."""
    row = db.execute(
        "SELECT compactions > COALESCE((SELECT compactions FROM snapshot WHERE session_id = ?1"
        " AND delivered_at IS NOT NULL ORDER BY id DESC LIMIT 1), 0) FROM session WHERE id = ?1",
        (session_id,),
    ).fetchone()
    return bool(row and row[0])
