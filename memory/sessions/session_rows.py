"""The tables of a store of sessions, `tables.sql`; the row of a session while a transaction writes
to it, and its dependent rows.

If both hooks and a transcript report a session, prompts and calls are taken from the first source
only, so that none is duplicated. The metadata name the kinds that come from hooks.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from functools import partial
from typing import Any

from base.stores import Step, run_script
from memory.sessions.events import Event
from memory.sessions.records import CompactionRecord, OutcomeRecord, UsageRecord
from memory.texts import pack

create_tables: Step = partial(run_script, module=__file__, name="tables.sql")
"""Make all tables and indexes of a new store."""

STEPS: tuple[Step, ...] = (create_tables,)
_KINDS = {"user": "prompts", "tool_call": "calls", "tool_result": "calls"}

COMPACTED = "[Context compacted]"
"""The text of the message that marks a compaction."""


def write_usage(
    db: sqlite3.Connection, session_id: str, key: bytes, group: bytes | None, record: UsageRecord
) -> None:
    db.execute(
        "INSERT INTO usage VALUES (:session_id, :key, :group_key, :model, :at, :input, :output,"
        " :cache_read, :cache_write, :reasoning)"
        " ON CONFLICT (session_id, response_key) DO UPDATE SET model = excluded.model,"
        " at = COALESCE(at, excluded.at), input = excluded.input, output = excluded.output,"
        " cache_read = excluded.cache_read, cache_write = excluded.cache_write,"
        " reasoning = excluded.reasoning"
        " WHERE COALESCE(excluded.output, -1) > COALESCE(output, -1)",
        {**record._asdict(), "session_id": session_id, "key": key, "group_key": group},
    )


def write_outcome(
    db: sqlite3.Connection, session_id: str, record: OutcomeRecord, at: float | None
) -> None:
    """Add the files that no call reported, and the status and summary if there is no summary."""
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


class OpenSession:
    """The state of a session during a transaction. Not a dataclass: a hook loads this.

    Attributes:
        sequence, turn: the last numbers assigned.
        last_at: None if no message has a time; the row then has the transcript's.
        events: an upper bound: some may have been deleted since they were counted.
        hooked: JSON with the kinds of messages that hooks report instead of the transcript.
        first_at: the first time of this transaction.
        changed_turn: the last turn that was noted as changed.
    """

    id: str
    folder: str
    sequence: int
    turn: int
    messages: int
    tool_calls: int
    compactions: int
    last_at: float | None
    events: int
    hooked: str

    def __init__(self, row: Mapping[str, Any]) -> None:
        """Initialize from a row, whose columns have the names of the attributes."""
        vars(self).update(row)
        self.was_timeless = self.last_at is None
        self.has_usage = False
        self.is_changed = False
        self.first_at: float | None = None
        self.outcome: OutcomeRecord | None = None
        self.changed_turn = -1

    def note_time(self, at: float | None) -> None:
        """Update the last activity if a record is later."""
        self.first_at = at if self.first_at is None else self.first_at
        if at is not None and (self.last_at is None or at > self.last_at):
            self.last_at = at


def read_hooked(db: sqlite3.Connection, session_id: str) -> str:
    """Read the kinds of a session's messages that come from hooks, as JSON; empty if none do."""
    row = db.execute(
        "SELECT json_extract(metadata, '$.hooks') FROM session WHERE id = ?", (session_id,)
    ).fetchone()
    return str((row and row[0]) or "")


def comes_from_elsewhere(
    db: sqlite3.Connection, session: OpenSession, role: str, *, by_hooks: bool
) -> bool:
    """Return whether messages of this role come from the other source."""
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


def write_compaction(
    db: sqlite3.Connection, session: OpenSession, record: CompactionRecord, key: bytes
) -> Event | None:
    """Write the message that marks a compaction, or fill its missing fields; return its event if it
    is new."""
    known = db.execute("SELECT id, session_id FROM message WHERE source_key = ?", (key,)).fetchone()
    if known is not None and known[1] != session.id:
        return None  # a fork's copy
    told = {**record._asdict(), "summary": pack(record.summary or None), "key": key}
    if known is not None:
        db.execute(
            "UPDATE message SET compaction_summary = COALESCE(compaction_summary, :summary),"
            " compaction_trigger = COALESCE(compaction_trigger, NULLIF(:trigger, '')),"
            " tokens_before = COALESCE(tokens_before, :tokens_before),"
            " tokens_after = COALESCE(tokens_after, :tokens_after) WHERE id = :id",
            {**told, "id": known[0]},
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
        " VALUES (:id, :key, :key, :sequence, 0, :turn, 'system', :at, :text, :size, 1, :summary,"
        " NULLIF(:trigger, ''), :tokens_before, :tokens_after)",
        {**vars(session), **told, "text": pack(COMPACTED), "size": len(COMPACTED)},
    )
    text = f"compacted ({record.trigger})" if record.trigger else "compacted"
    return Event("compaction", text)


def cut(db: sqlite3.Connection, session: OpenSession, group: bytes) -> None:
    """Delete the message of a group and all later ones, with the events of those turns."""
    row = db.execute(
        "SELECT MIN(sequence), MIN(turn) FROM message WHERE session_id = ? AND group_key = ?",
        (session.id, group),
    ).fetchone()
    if row[0] is None:
        return
    # Counted before the rows are deleted, and subtracted: counting all others would read the
    # session.
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
    session.changed_turn = -1  # a later turn may get the same number, with another text
