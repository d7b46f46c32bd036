"""Sessions that both hooks and a transcript report: prompts, and calls, are taken from whichever
came first, so that none is there twice. Which kinds come from hooks is in the metadata."""

from __future__ import annotations

import sqlite3

from memory.sessions.open_session import OpenSession

_KINDS = {"user": "prompts", "tool_call": "calls", "tool_result": "calls"}


def read_hooked(db: sqlite3.Connection, session_id: str) -> str:
    """Read which kinds of a session's messages come from hooks, as JSON; empty where none do."""
    row = db.execute(
        "SELECT json_extract(metadata, '$.hooks') FROM session WHERE id = ?", (session_id,)
    ).fetchone()
    return str((row and row[0]) or "")


def comes_from_elsewhere(
    db: sqlite3.Connection, session: OpenSession, role: str, *, by_hooks: bool
) -> bool:
    """Tell whether messages of this role are taken from the other source."""
    kind = _KINDS.get(role)
    if kind is None or not (session.hooked or by_hooks):
        return False
    is_hooked = f'"{kind}"' in session.hooked
    if is_hooked or not by_hooks:
        return is_hooked and not by_hooks
    roles = ("user", "user") if kind == "prompts" else ("tool_call", "tool_result")
    if db.execute(
        "SELECT 1 FROM message WHERE session_id = ? AND role IN (?, ?) LIMIT 1",
        (session.id, *roles),
    ).fetchone():
        return True
    session.hooked += f'"{kind}"'
    db.execute(
        "UPDATE session SET metadata = json_patch(metadata, ?) WHERE id = ?",
        (f'{{"hooks": {{"{kind}": 1}}}}', session.id),
    )
    return False
