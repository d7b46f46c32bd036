"""Snapshots that were made, and their delivery: each is given to an agent once."""

from __future__ import annotations

import sqlite3

from memory.texts import pack, unpack

SNAPSHOTS_KEPT = 10
"""Of each session."""


def save_snapshot(
    db: sqlite3.Connection, session_id: str, text: str, *, trigger: str, at: float
) -> None:
    """Keep a snapshot, which waits to be delivered; older ones wait no longer."""
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
    """Find the snapshot of a session that waits: its number and its text."""
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
    """Tell whether a snapshot of a session was delivered after a time."""
    row = db.execute(
        "SELECT MAX(delivered_at) FROM snapshot WHERE session_id = ?", (session_id,)
    ).fetchone()
    return row[0] is not None and row[0] >= at


def was_compacted(db: sqlite3.Connection, session_id: str) -> bool:
    """Tell whether a session has more compactions than when a snapshot was last delivered."""
    row = db.execute(
        "SELECT compactions > COALESCE((SELECT compactions FROM snapshot WHERE session_id = ?1"
        " AND delivered_at IS NOT NULL ORDER BY id DESC LIMIT 1), 0) FROM session WHERE id = ?1",
        (session_id,),
    ).fetchone()
    return bool(row and row[0])
