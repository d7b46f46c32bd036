"""Reading a session's events. Hooks load this, so nothing else is here."""

from __future__ import annotations

import sqlite3

from memory.sessions.events import Event


def read_prompts(db: sqlite3.Connection, session_id: str) -> dict[int, str]:
    """Read what was asked by the numbers of a session's turns, cut as events are."""
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
