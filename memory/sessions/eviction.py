"""Which events go when a session has too many: the least important first, the oldest of those."""

from __future__ import annotations

import sqlite3

EVENTS_MAX = 1000


def evict_events(db: sqlite3.Connection, session_id: str, events_max: int = EVENTS_MAX) -> int:
    """Delete what exceeds the bound, in the transaction that added it; return how many are left.

    Of all priorities the highest number goes first, and of one priority what came first.
    """
    count = db.execute("SELECT COUNT(*) FROM event WHERE session_id = ?", (session_id,)).fetchone()
    too_many = int(count[0]) - events_max
    if too_many > 0:
        db.execute(
            "DELETE FROM event WHERE id IN (SELECT id FROM event WHERE session_id = ?"
            " ORDER BY priority DESC, id LIMIT ?)",
            (session_id, too_many),
        )
    return int(count[0]) - max(too_many, 0)
