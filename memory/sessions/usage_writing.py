"""Writing the tokens of responses: of several records of one the largest output counts."""

from __future__ import annotations

import sqlite3

from memory.sessions.records import UsageRecord


def write_usage(
    db: sqlite3.Connection, session_id: str, key: bytes, group: bytes | None, record: UsageRecord
) -> None:
    db.execute(
        "INSERT INTO usage VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (session_id, response_key) DO UPDATE SET model = excluded.model,"
        " at = COALESCE(at, excluded.at), input = excluded.input, output = excluded.output,"
        " cache_read = excluded.cache_read, cache_write = excluded.cache_write,"
        " reasoning = excluded.reasoning"
        " WHERE COALESCE(excluded.output, -1) > COALESCE(output, -1)",
        (
            session_id,
            key,
            group,
            record.model,
            record.at,
            record.input,
            record.output,
            record.cache_read,
            record.cache_write,
            record.reasoning,
        ),
    )
