"""The new rows of OpenCode's database: its sessions, and the changed messages of each.

Columns of times have no index, and the database may have gigabytes. So changes are found by the few
rows of `session`, by the numbers of new rows, and within a session by its index. A mark is stored
for each of the last sessions; a session without one is read again, which changes nothing.

The host continues writing and must not be blocked. Each statement is a separate short transaction.
Nothing is written: a log that the host left empty is not opened, so that no file appears next to
the database.
"""

from __future__ import annotations

import os
import re
import sqlite3
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from base.plain_files import open_plain
from memory.sessions.importers.importer import State
from memory.sessions.importers.untrusted_json import count, one_line, seconds, text
from memory.sessions.records import SessionRecord

WAIT_S = 0.2
STATEMENT_S = 5.0
"""Time limit of a statement: an untrusted database may make it endless."""

VALUE_BYTES_MAX = 64 << 20
_STEPS = 100_000
_HEADER_BYTES = 20
_NO_TITLE = re.compile(r"(?:New|Child) session - \d{4}-\d\d-\d\dT")
_IS_LOGGED = b"\x02\x02"  # the two versions in the header of a database with a write-ahead log

OVERLAP_MS = 10_000
"""Delay by which rows may be committed after their own times."""

MARKS_MAX = 50
PROMPTS_MAX = 20
TABLES = {
    "session": ("id", "parent_id", "directory", "title", "version", "time_created", "time_updated"),
    "message": ("id", "session_id", "time_created", "time_updated", "data"),
    "part": ("id", "message_id", "session_id", "time_updated", "data"),
}
_DATA = f"CASE WHEN length(CAST(data AS BLOB)) <= {VALUE_BYTES_MAX} THEN data END"


class HostDatabase:
    """One open database. Text that is not UTF-8 is replaced."""

    def __init__(self, path: str) -> None:
        """Open it.

        Raises:
            OSError: it cannot be read, or is a link.
            ValueError: it is not a database, or a file next to it is not a plain file.
            sqlite3.Error: it cannot be opened.
        """
        self._path = path
        self._ends_at = 0.0
        self._open()

    def _open(self) -> None:
        for beside in ("-wal", "-shm", "-journal"):
            _refuse_unless_plain(self._path + beside)
        with open_plain(self._path, follow=False) as file:
            header = file.read(_HEADER_BYTES)
        if not header.startswith(b"SQLite format 3\0"):
            raise ValueError("no database")
        # Without a log it has no writer, and no file must be created to find that out.
        self._is_quiet = header.endswith(_IS_LOGGED) and not self._is_logged()
        how = "mode=ro&immutable=1" if self._is_quiet else "mode=ro"
        self._db = sqlite3.connect(
            f"file:{quote(self._path)}?{how}", uri=True, timeout=WAIT_S, isolation_level=None
        )
        self._db.text_factory = _decode
        self._db.set_progress_handler(self._is_late, _STEPS)
        self._db.execute("PRAGMA trusted_schema = OFF")

    def _is_logged(self) -> bool:
        try:
            return os.lstat(self._path + "-wal").st_size > 0
        except OSError:
            return False

    def _is_late(self) -> bool:
        return time.monotonic() > self._ends_at

    def require(self, tables: Mapping[str, Sequence[str]]) -> None:
        """Check that tables exist, each with some columns.

        Raises:
            ValueError: one is missing, or is a view.
        """
        for table, columns in tables.items():
            kinds = self.rows("SELECT type FROM sqlite_master WHERE name = ?", table)
            found = {row[0] for row in self.rows("SELECT name FROM pragma_table_info(?)", table)}
            if kinds != [("table",)] or not found.issuperset(columns):
                raise ValueError(f"no table {table} of the known form")

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Return all rows of a statement.

        Raises:
            sqlite3.Error: it is locked, damaged, or takes too long.
        """
        if self._is_quiet and self._is_logged():
            self.close()
            self._open()
        self._ends_at = time.monotonic() + STATEMENT_S
        return self._db.execute(statement, values).fetchall()

    def close(self) -> None:
        """Close it; safe to call twice."""
        self._db.close()


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _refuse_unless_plain(path: str) -> None:
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode):
        raise ValueError("a file next to it is not a plain file")


SessionRow = tuple[int, SessionRecord]
"""The number of a session's row, and the values of its columns with the right types."""

MessageRow = tuple[int, str, int | None]
"""A message: the number of its row, its id, and its time."""


class Rows:
    """The new rows of one database; `state` is the position of the last reading."""

    def __init__(self, db: HostDatabase, state: State) -> None:
        self._db = db
        self._state = state
        self._now = int(time.time() * 1000)

    def find_session(self, session_id: str) -> Iterator[SessionRow]:
        """Yield the session of an id, if there is one."""
        for (row,) in self._db.rows("SELECT rowid FROM session WHERE id = ?", session_id):
            yield from self._session(row)

    def list_sessions(self) -> Iterator[SessionRow]:
        """Yield the sessions that may have new messages. Each one counts as read when the next is
        requested; after the last one, all do."""
        state = self._state
        newest = self._newest_time()
        if newest < state.get("since", 0):  # another database has replaced the earlier one
            state.clear()
        since, rows = state.get("since", 0), state.get("rows", [0, 0])
        going = state.setdefault("pass", {})
        if not going:
            going["until"] = newest
            going["rows"] = [self._newest_row("message"), self._newest_row("part")]
        for row in self._touched(since, rows):
            if row > going.get("after", -1):
                yield from self._session(row)
                going["after"] = row
        state.update(since=going["until"], rows=going["rows"])
        del state["pass"]

    def _newest_time(self) -> int:
        found = self._db.rows(
            "SELECT MAX(time_updated) FROM session"
            " WHERE typeof(time_updated) = 'integer' AND time_updated <= ?",
            self._now,
        )
        return count(found[0][0]) or 0

    def _newest_row(self, table: str) -> int:
        found = self._db.rows(
            f"SELECT rowid FROM {table} ORDER BY rowid DESC LIMIT 1"  # noqa: S608 - fixed
        )
        return found[0][0] if found else 0

    def _touched(self, since: int, rows: list[int]) -> list[int]:
        found = self._db.rows("SELECT rowid FROM session WHERE time_updated >= ?", _from(since))
        if since:
            for table, row in zip(("message", "part"), rows, strict=True):
                found += self._db.rows(
                    "SELECT rowid FROM session WHERE id IN"  # noqa: S608 - fixed
                    f" (SELECT session_id FROM {table} WHERE rowid > ?)",
                    row,
                )
        return sorted({row for (row,) in found})

    def _session(self, row: int) -> Iterator[SessionRow]:
        for id_, parent_id, directory, title, version, created in self._db.rows(
            "SELECT id, parent_id, directory, title, version, time_created FROM session"
            " WHERE rowid = ?",
            row,
        ):
            if text(id_):
                parent = text(parent_id)
                yield (
                    row,
                    SessionRecord(
                        id_,
                        parent,
                        "subagent" if parent else "",
                        "" if _NO_TITLE.match(text(title)) else one_line(text(title)),
                        text(version),
                        text(directory),
                        started_at=seconds(count(created)),
                    ),
                )

    def mark(self, row: int) -> dict[str, Any]:
        """Return the stored mark of a session."""
        marks: dict[str, Any] = self._state.setdefault("marks", {})
        mark: dict[str, Any] = marks.pop(str(row), None) or {}
        marks[str(row)] = mark
        while len(marks) > MARKS_MAX:
            del marks[next(iter(marks))]
        return mark

    def read_session(
        self, session: SessionRecord, mark: dict[str, Any]
    ) -> Iterator[tuple[MessageRow, object, list[tuple[str, object]]]]:
        """Yield the messages that changed since the mark, each with its data and its parts'. Each
        one counts as read when the next is requested."""
        listed = self._list_messages(session)
        changed = self._find_changed(session, listed, mark)
        if "until" not in mark:
            mark["until"] = max((at for _, at in listed), default=0)
        for message in changed:
            row, id_, _ = message
            data = self._db.rows(
                f"SELECT {_DATA} FROM message WHERE rowid = ?",  # noqa: S608 - fixed
                row,
            )
            if data:
                yield message, data[0][0], self.read_parts(id_)
            mark["at"] = row
        mark.pop("at", None)
        mark["time"] = mark.pop("until")

    def read_parts(self, message_id: str) -> list[tuple[str, object]]:
        """Return the ids and the data of a message's parts, in order."""
        parts = self._db.rows(
            f"SELECT id, {_DATA} FROM part WHERE message_id = ? ORDER BY id",  # noqa: S608 - fixed
            message_id,
        )
        return [(id_, value) for id_, value in parts if text(id_)]

    def _list_messages(self, session: SessionRecord) -> list[tuple[MessageRow, int]]:
        listed = self._db.rows(
            "SELECT rowid, id, time_created, time_updated FROM message WHERE session_id = ?"
            " ORDER BY time_created, id",
            session.id,
        )
        return [
            ((row, id_, count(created)), min(count(updated) or self._now, self._now))
            for row, id_, created, updated in listed
            if text(id_)
        ]

    def _find_changed(
        self, session: SessionRecord, listed: list[tuple[MessageRow, int]], mark: dict[str, Any]
    ) -> list[MessageRow]:
        """List the changed messages, without those already read by an interrupted reading."""
        since = _from(count(mark.get("time")) or 0)
        if since > 0:
            parts = self._db.rows(
                "SELECT DISTINCT message_id FROM part WHERE session_id = ? AND time_updated >= ?",
                session.id,
                since,
            )
            ids = {id_ for (id_,) in parts}
            changed = [one for one, at in listed if at >= since or one[1] in ids]
        else:
            changed = [one for one, _ in listed]
        reached = next((n for n, one in enumerate(changed) if one[0] == mark.get("at")), -1)
        return changed[reached + 1 :]

    def find_removed(self, session: SessionRecord, mark: dict[str, Any]) -> str:
        """Return the first of the last prompts that are gone, as after a user's rewind; empty if
        none are. A prompt missing between others was deleted alone."""
        known = mark.get("prompts", [])
        there = {
            id_
            for id_ in known
            if self._db.rows(
                "SELECT 1 FROM message WHERE id = ? AND session_id = ?", id_, session.id
            )
        }
        last = max((n for n, id_ in enumerate(known) if id_ in there), default=-1)
        return known[last + 1] if last + 1 < len(known) else ""

    def note_prompt(self, mark: dict[str, Any], message_id: str) -> None:
        """Store the id of a prompt, so that its removal is noticed."""
        known = mark.get("prompts", [])
        if message_id not in known:
            mark["prompts"] = [*known, message_id][-PROMPTS_MAX:]


def _from(since: int) -> int:
    return max(since - OVERLAP_MS, 0)


def is_damage(error: sqlite3.DatabaseError) -> bool:
    """Return whether some rows are damaged, while later ones may be intact; neither a lock nor a
    limit."""
    return not isinstance(error, sqlite3.OperationalError)
