"""Reading a session's events. Hooks load this, so nothing else is here."""

from __future__ import annotations

import sqlite3

from memory.sessions.events import Event


def read_events(db: sqlite3.Connection, session_id: str) -> list[Event]:
    """Read a session's events in order."""
    rows = db.execute(
        "SELECT category, text, target, state FROM event WHERE session_id = ? ORDER BY id",
        (session_id,),
    )
    return [Event(*row) for row in rows]
