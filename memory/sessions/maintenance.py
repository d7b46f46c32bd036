"""Sessions after they were recorded: their status, summary, end, and forgetting."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from base.clock import DAY_S, find_witness_span
from memory.sessions.preparing import key_of
from memory.sessions.sources import EXPIRED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from base.plain_files import StrPath

KEEP_DAYS = 30


@dataclass(frozen=True, slots=True)
class Summary:
    """What whoever summarised a session found: ctx0's fields, and CTXone's session memory."""

    summary: str
    details: str = ""
    decisions: tuple[str, ...] = ()
    contacts: tuple[str, ...] = ()
    learnings: tuple[str, ...] = ()
    action_items: tuple[str, ...] = ()


def set_summary(db: sqlite3.Connection, session_id: str, summary: Summary) -> None:
    """Keep a summary, which makes the session archived."""
    findings = {
        "details": summary.details,
        "decisions": list(summary.decisions),
        "contacts": list(summary.contacts),
        "learnings": list(summary.learnings),
        "action_items": list(summary.action_items),
    }
    db.execute(
        "UPDATE session SET summary = ?, status = 'archived',"
        " metadata = json_patch(metadata, ?) WHERE id = ?",
        (summary.summary, json.dumps({"findings": findings}, ensure_ascii=False), session_id),
    )


def read_summary(db: sqlite3.Connection, session_id: str) -> Summary | None:
    """Read what was found by whoever summarised a session; None where nobody did."""
    row = db.execute("SELECT summary, metadata FROM session WHERE id = ?", (session_id,)).fetchone()
    if row is None or not row[0]:
        return None
    found = json.loads(row[1]).get("findings", {})
    lists = (found.get(name, ()) for name in ("decisions", "contacts", "learnings", "action_items"))
    return Summary(row[0], found.get("details", ""), *map(tuple, lists))


def set_status(db: sqlite3.Connection, session_id: str, status: str) -> None:
    """Set the status that a person gave; the empty one is by the times again."""
    db.execute("UPDATE session SET status = ? WHERE id = ?", (status, session_id))


def set_pinned(db: sqlite3.Connection, session_id: str, *, pinned: bool) -> None:
    """Keep a session for good, or let it go in its time."""
    db.execute("UPDATE session SET pinned = ? WHERE id = ?", (pinned, session_id))


def forget(db: sqlite3.Connection, session_ids: Sequence[str]) -> list[str]:
    """Delete sessions and those of their subagents, and note that they are never read again; return
    all that went."""
    gone = list_with_subagents(db, session_ids)
    for session_id in gone:
        # A fork begins with copies of its messages and responses, under their keys.
        db.execute(
            "INSERT OR IGNORE INTO tombstone SELECT source_key FROM message WHERE session_id = ?1"
            " UNION SELECT response_key FROM usage WHERE session_id = ?1",
            (session_id,),
        )
        db.execute(
            "UPDATE import_error SET excerpt = '' WHERE source_id IN (SELECT source.id FROM source"
            " JOIN session ON session.source_path = source.path WHERE session.id = ?)",
            (session_id,),
        )
    # Behind both: by the rows that this deletes the keys and the transcripts were found.
    delete(db, gone)
    db.executemany(
        "INSERT OR IGNORE INTO tombstone VALUES (?)", [(key_of(session_id),) for session_id in gone]
    )
    return gone


def expire(db: sqlite3.Connection, session_ids: Sequence[str]) -> list[str]:
    """Delete sessions and those of their subagents, whose time is over; return all that went. They
    are not forgotten: a transcript that still lies there is read again where they are to be kept
    after all, as by a clock that was put right."""
    # Before they are deleted: their last activity is read from their rows. Without it the next
    # reading would take the transcript for a new one, and they would be back.
    for session_id in list_with_subagents(db, session_ids):
        db.execute(
            "UPDATE source SET state = json_set(state, ?2, MAX(session.last_at,"
            " COALESCE(json_extract(state, ?2), 0))) FROM session"
            " WHERE session.id = ?1 AND source.path = session.source_path"
            " AND session.last_at IS NOT NULL",
            (session_id, f"$.{EXPIRED}"),
        )
    return delete(db, session_ids)


def delete(db: sqlite3.Connection, session_ids: Sequence[str]) -> list[str]:
    """Delete sessions and those of their subagents, for which there is no room; return all that
    went. What their hosts write of them later is read again."""
    gone = list_with_subagents(db, session_ids)
    db.executemany("DELETE FROM session WHERE id = ?", [(session_id,) for session_id in gone])
    return gone


def list_with_subagents(db: sqlite3.Connection, session_ids: Sequence[str]) -> list[str]:
    """List sessions and their subagents, and those of these."""
    found = dict.fromkeys(session_ids)
    waiting = list(found)
    while waiting:
        rows = db.execute(
            "SELECT id FROM session WHERE parent_id = ? AND relation = 'subagent'", (waiting.pop(),)
        )
        new = [str(row[0]) for row in rows if row[0] not in found]
        found.update(dict.fromkeys(new))
        waiting += new
    return list(found)


def find_expired(db: sqlite3.Connection, now: float, keep_days: float = KEEP_DAYS) -> list[str]:
    """Find the sessions whose last activity is too long ago; pinned ones stay. One that a person
    imported counts from then on."""
    rows = db.execute(
        "SELECT id FROM session WHERE NOT pinned AND MAX(last_at, created_at) < ? ORDER BY last_at",
        (now - keep_days * DAY_S,),
    )
    return [str(row[0]) for row in rows]


def confirms_clock(db: sqlite3.Connection, now: float, keep_days: float = KEEP_DAYS) -> bool:
    """Return whether something was recorded lately, so that what seems to be too old is. A clock
    that leapt past all that is recorded would take everything."""
    row = db.execute(
        "SELECT 1 FROM (SELECT last_at AS at FROM session UNION ALL SELECT created_at FROM session"
        " UNION ALL SELECT at FROM turn) WHERE at BETWEEN ? AND ? LIMIT 1",
        find_witness_span(now, keep_days * DAY_S),
    ).fetchone()
    return row is not None


def describe_doubt(db: sqlite3.Connection, now: float, keep_days: float = KEEP_DAYS) -> str:
    """Say which sessions stay because the clock may have leapt; empty where none does."""
    expired = find_expired(db, now, keep_days)
    if not expired or confirms_clock(db, now, keep_days):
        return ""
    count = f"{len(expired)} sessions" if len(expired) > 1 else "1 session"
    return (
        f"{count} older than transcripts.keep_days ({keep_days:g}) stayed: nothing else was"
        " recorded in that time, so the clock may have leapt. Set it right, or delete them:"
        " context-mode sessions forget ID"
    )


def find_next_to_go(db: sqlite3.Connection) -> str:
    """Find the session that goes first when there is too little room: archived ones before others,
    the oldest of those; empty where all that is left is pinned. One that a person imported is as
    old as that, and of one import the oldest goes first."""
    row = db.execute(
        "SELECT id FROM session WHERE NOT pinned"
        " ORDER BY status <> 'archived', MAX(last_at, created_at), last_at LIMIT 1"
    ).fetchone()
    return str(row[0]) if row else ""


def measure(path: StrPath) -> int:
    """Measure a store on the disk in bytes, its log included."""
    files = (f"{os.fspath(path)}{suffix}" for suffix in ("", "-wal"))
    return sum(os.stat(file).st_size for file in files if os.path.exists(file))


def compact(db: sqlite3.Connection) -> None:
    """Give back what deleting left free, and empty the log, so that no byte of it is left."""
    db.executescript("PRAGMA incremental_vacuum")  # `execute` stops at the first page
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def check(db: sqlite3.Connection, *, mend: bool = False) -> Iterator[str]:
    """Verify the file and recount what sessions count; yield what is wrong. `mend` puts the counts
    right."""
    for (line,) in db.execute("PRAGMA integrity_check"):
        if line != "ok":
            yield str(line)
    for row in db.execute("PRAGMA foreign_key_check"):
        yield f"{row[0]}: row {row[1]} refers to a session that is gone"
    for name, sql in _COUNTS.items():
        wrong = db.execute(
            f"SELECT id, {name}, ({sql}) AS counted FROM session"  # noqa: S608 - fixed here
            f" WHERE {name} IS NOT counted"
        ).fetchall()
        for session_id, said, counted in wrong:
            yield f"{session_id}: {name} says {said}, and there are {counted}"
        if mend and wrong:
            db.execute(f"UPDATE session SET {name} = ({sql})")  # noqa: S608


_COUNTS = {
    "messages": "SELECT COUNT(DISTINCT sequence) FROM message WHERE session_id = session.id"
    " AND role IN ('user', 'assistant', 'tool_call')",
    "tool_calls": "SELECT COUNT(*) FROM message WHERE session_id = session.id"
    " AND role = 'tool_call'",
    "compactions": "SELECT COUNT(*) FROM message WHERE session_id = session.id AND is_compaction",
    "input_tokens": "SELECT SUM(input) FROM usage WHERE session_id = session.id",
    "output_tokens": "SELECT SUM(output) FROM usage WHERE session_id = session.id",
}
