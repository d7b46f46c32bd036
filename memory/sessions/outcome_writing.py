"""Writing what an exported session has beside its messages."""

from __future__ import annotations

import json
import sqlite3

from memory.sessions.records import OutcomeRecord


def write_outcome(
    db: sqlite3.Connection, session_id: str, record: OutcomeRecord, at: float | None
) -> None:
    """Add the files that no call told of, and the status and summary where there is no summary."""
    db.executemany(
        "INSERT OR IGNORE INTO file_touch VALUES (?, ?, ?, 1, ?, ?)",
        [(session_id, path, action, at, at) for path, action in record.files],
    )
    if record.status:
        db.execute(
            "UPDATE session SET status = ? WHERE id = ? AND summary = ''",
            (record.status, session_id),
        )
    if record.summary:
        findings = json.dumps({"findings": dict(record.findings)}, ensure_ascii=False)
        db.execute(
            "UPDATE session SET summary = ?, metadata = json_patch(metadata, ?)"
            " WHERE id = ? AND summary = ''",
            (record.summary, findings, session_id),
        )
