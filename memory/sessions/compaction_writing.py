"""Compactions, and the taking back of what was said: what changes the course of a session."""

from __future__ import annotations

import sqlite3

from memory.sessions.events import Event
from memory.sessions.open_session import OpenSession
from memory.sessions.records import CompactionRecord
from memory.texts import pack

COMPACTED = "[Context compacted]"
"""The text of the message that marks a compaction."""


def write_compaction(
    db: sqlite3.Connection, session: OpenSession, record: CompactionRecord, key: bytes
) -> Event | None:
    """Write the message that marks a compaction, or fill in what one lacks; return its event where
    it is new."""
    known = db.execute("SELECT id, session_id FROM message WHERE source_key = ?", (key,)).fetchone()
    if known is not None and known[1] != session.id:
        return None  # a fork's copy
    if known is not None:
        db.execute(
            "UPDATE message SET compaction_summary = COALESCE(compaction_summary, ?),"
            " compaction_trigger = COALESCE(compaction_trigger, ?),"
            " tokens_before = COALESCE(tokens_before, ?),"
            " tokens_after = COALESCE(tokens_after, ?) WHERE id = ?",
            (
                pack(record.summary or None),
                record.trigger or None,
                record.tokens_before,
                record.tokens_after,
                known[0],
            ),
        )
        return None
    session.note_time(record.at)
    session.is_changed = True
    session.sequence += 1
    session.compactions += 1
    db.execute(
        "INSERT INTO message (session_id, source_key, group_key, sequence, step, turn, role,"
        " at, content, content_bytes, is_compaction, compaction_summary, compaction_trigger,"
        " tokens_before, tokens_after)"
        " VALUES (?, ?, ?, ?, 0, ?, 'system', ?, ?, ?, 1, ?, ?, ?, ?)",
        (
            session.id,
            key,
            key,
            session.sequence,
            session.turn,
            record.at,
            pack(COMPACTED),
            len(COMPACTED),
            pack(record.summary or None),
            record.trigger or None,
            record.tokens_before,
            record.tokens_after,
        ),
    )
    text = f"compacted ({record.trigger})" if record.trigger else "compacted"
    return Event("compaction", text)


def cut(db: sqlite3.Connection, session: OpenSession, group: bytes) -> None:
    """Delete the message of a group and all after it, with the events of those turns."""
    row = db.execute(
        "SELECT MIN(sequence), MIN(turn) FROM message WHERE session_id = ? AND group_key = ?",
        (session.id, group),
    ).fetchone()
    if row[0] is None:
        return
    gone = db.execute(
        "SELECT COUNT(DISTINCT CASE WHEN role IN ('user', 'assistant', 'tool_call')"
        " THEN sequence END), COALESCE(SUM(role = 'tool_call'), 0),"
        " COALESCE(SUM(is_compaction), 0) FROM message WHERE session_id = ? AND sequence >= ?",
        (session.id, row[0]),
    ).fetchone()
    session.messages -= gone[0]
    session.tool_calls -= gone[1]
    session.compactions -= gone[2]
    for table, column, first in (
        ("message", "sequence", row[0]),
        ("event", "turn", row[1]),
        ("turn", "number", row[1]),
    ):
        db.execute(
            f"DELETE FROM {table} WHERE session_id = ? AND {column} >= ?",  # noqa: S608 - fixed
            (session.id, first),
        )
    session.sequence, session.turn = row[0] - 1, max(row[1] - 1, 0)
    session.changed_turn = -1
