"""Maintenance of recorded sessions: status, summary, expiry, deletion."""

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
    """The findings of a session's summary: ctx0's fields, and CTXone's session memory."""

    summary: str
    details: str = ""
    decisions: tuple[str, ...] = ()
    contacts: tuple[str, ...] = ()
    learnings: tuple[str, ...] = ()
    action_items: tuple[str, ...] = ()


def set_summary(db: sqlite3.Connection, session_id: str, summary: Summary) -> None:
    """Store a summary, which makes the session archived."""
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
    """Read the summary of a session; None if it has none."""
    row = db.execute("SELECT summary, metadata FROM session WHERE id = ?", (session_id,)).fetchone()
    if row is None or not row[0]:
        return None
    found = json.loads(row[1]).get("findings", {})
    lists = (found.get(name, ()) for name in ("decisions", "contacts", "learnings", "action_items"))
    return Summary(row[0], found.get("details", ""), *map(tuple, lists))


def set_status(db: sqlite3.Connection, session_id: str, status: str) -> None:
    """Set a user's status; an empty one restores the status by times."""
    db.execute("UPDATE session SET status = ? WHERE id = ?", (status, session_id))


def set_pinned(db: sqlite3.Connection, session_id: str, *, pinned: bool) -> None:
    """Pin a session, so that it does not expire, or unpin it."""
    db.execute("UPDATE session SET pinned = ? WHERE id = ?", (pinned, session_id))


def forget(db: sqlite3.Connection, session_ids: Sequence[str]) -> list[str]:
    """Permanently delete sessions and their subagents, which are never read again; return all that
    were deleted."""
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
    # After both: the keys and the transcripts were found by the rows that this deletes.
    delete(db, gone)
    db.executemany(
        "INSERT OR IGNORE INTO tombstone VALUES (?)", [(key_of(session_id),) for session_id in gone]
    )
    return gone


def expire(db: sqlite3.Connection, session_ids: Sequence[str]) -> list[str]:
    """Delete expired sessions and their subagents; return all that were deleted. A transcript that
    still exists is read again if they should be stored after all, as when a clock was corrected."""
    # Before the deletion, which removes their last activity: without it, the next reading would
    # treat the transcript as new and restore them.
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
    """Delete sessions and their subagents to free space; return all that were deleted. Later
    records of their hosts are read again."""
    gone = list_with_subagents(db, session_ids)
    db.executemany("DELETE FROM session WHERE id = ?", [(session_id,) for session_id in gone])
    return gone


def list_with_subagents(db: sqlite3.Connection, session_ids: Sequence[str]) -> list[str]:
    """List sessions and their subagents, recursively."""
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
    """Find the sessions whose last activity is too long ago, except pinned ones. For a user's
    import, the time of the import counts."""
    rows = db.execute(
        "SELECT id FROM session WHERE NOT pinned AND MAX(last_at, created_at) < ? ORDER BY last_at",
        (now - keep_days * DAY_S,),
    )
    return [str(row[0]) for row in rows]


def confirms_clock(db: sqlite3.Connection, now: float, keep_days: float = KEEP_DAYS) -> bool:
    """Return whether a recent record confirms the clock. A clock that jumped past all records would
    expire everything."""
    row = db.execute(
        "SELECT 1 FROM (SELECT last_at AS at FROM session UNION ALL SELECT created_at FROM session"
        " UNION ALL SELECT at FROM turn) WHERE at BETWEEN ? AND ? LIMIT 1",
        find_witness_span(now, keep_days * DAY_S),
    ).fetchone()
    return row is not None


def describe_doubt(db: sqlite3.Connection, now: float, keep_days: float = KEEP_DAYS) -> str:
    """Describe which sessions are kept because the clock may have jumped; empty if none are."""
    expired = find_expired(db, now, keep_days)
    if not expired or confirms_clock(db, now, keep_days):
        return ""
    count = f"{len(expired)} sessions" if len(expired) > 1 else "1 session"
    return (
        f"{count} older than transcripts.keep_days ({keep_days:g}) stayed: nothing else was"
        " recorded in that time, so the clock may have jumped. Correct it, or delete them:"
        " context-mode sessions forget ID"
    )


def find_next_to_go(db: sqlite3.Connection) -> str:
    """Find the session to delete first for space: archived ones before others, then the oldest;
    empty if only pinned ones are left. For a user's import the time of the import counts, and
    within one import the age of the session."""
    row = db.execute(
        "SELECT id FROM session WHERE NOT pinned"
        " ORDER BY status <> 'archived', MAX(last_at, created_at), last_at LIMIT 1"
    ).fetchone()
    return str(row[0]) if row else ""


def measure(path: StrPath) -> int:
    """Return the size of a store on disk in bytes, log included."""
    files = (f"{os.fspath(path)}{suffix}" for suffix in ("", "-wal"))
    return sum(os.stat(file).st_size for file in files if os.path.exists(file))


def compact(db: sqlite3.Connection) -> None:
    """Return deleted space to the file system and empty the log, so that no deleted byte
    remains."""
    db.executescript("PRAGMA incremental_vacuum")  # `execute` stops at the first page
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def check(db: sqlite3.Connection, *, repair: bool = False) -> Iterator[str]:
    """Verify the file and recount the sessions' counts; yield the problems. On request, correct the
    counts."""
    for (line,) in db.execute("PRAGMA integrity_check"):
        if line != "ok":
            yield str(line)
    for row in db.execute("PRAGMA foreign_key_check"):
        yield f"{row[0]}: row {row[1]} refers to a missing session"
    for name, sql in _COUNTS.items():
        wrong = db.execute(
            f"SELECT id, {name}, ({sql}) AS counted FROM session"  # noqa: S608 - fixed here
            f" WHERE {name} IS NOT counted"
        ).fetchall()
        for session_id, said, counted in wrong:
            yield f"{session_id}: {name} is {said}, but {counted} were counted"
        if repair and wrong:
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
