"""Which events go when a session has too many: the least important first, the oldest of those."""

from __future__ import annotations

import sqlite3

EVENTS_MAX = 1000


def evict_events(db: sqlite3.Connection, session_id: str, events_max: int = EVENTS_MAX) -> int:
    """Delete what exceeds the bound, in the transaction that added it; return how many are left.

    Of all priorities the highest number goes first, and of one priority what came first.
    """
    count = db.execute("SELECT COUNT(*) FROM event WHERE session_id = ?", (session_id,)).fetchone()
    too_many = max(int(count[0]) - events_max, 0)
    for _ in range(too_many):  # as a rule one: two steps in an index, and no sorting
        db.execute(
            "DELETE FROM event WHERE id = (SELECT MIN(id) FROM event WHERE session_id = ?1"
            " AND priority = (SELECT MAX(priority) FROM event WHERE session_id = ?1))",
            (session_id,),
        )
    return int(count[0]) - too_many
