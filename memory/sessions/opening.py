"""What is said when a session begins or is resumed, in a line or a few."""

from __future__ import annotations

import os
import sqlite3

from memory.texts import cut_bytes

FILES_LOOKED_AT = 200


def tell_open_tasks(db: sqlite3.Connection, branch: str, since: float, bytes_max: int) -> str:
    """Name the latest session of a branch that ended with open tasks; empty where there is none."""
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
    """Say how many completed sessions await a summary; empty where none does."""
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
    """Name the files of a session that changed since its last activity; empty where none did."""
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
