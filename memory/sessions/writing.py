"""Putting what was prepared into the tables, in one short transaction.

Each message has a key, so the same record again changes nothing; nor do the events come back that
were evicted since. Counts change in the transaction that adds what they count.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterable

from memory.sessions.cues import cut_bytes
from memory.sessions.events import CLOSED_ERROR_PRIORITY, Event, of_error
from memory.sessions.eviction import evict_events
from memory.sessions.preparing import Prepared, digest
from memory.sessions.records import (
    CompactionRecord,
    CutRecord,
    MessageRecord,
    SessionRecord,
    UsageRecord,
)

TITLE_BYTES_MAX = 80
COMPACTED = "[Context compacted]"
"""The text of the message that marks a compaction."""

_COUNTED_ROLES = ("user", "assistant", "tool_call")
_CLOSING = ("command", "git", "look", "file_edit", "file_read")


class _Session:
    """What is known of a session while a transaction lasts. No dataclass: a hook loads this."""

    def __init__(  # noqa: PLR0913, PLR0917 - the columns of a row
        self,
        id_: str,
        folder: str,
        sequence: int,
        turn: int,
        messages: int,
        tool_calls: int,
        compactions: int,
        last_at: float | None,
    ) -> None:
        self.id = id_
        self.folder = folder
        self.sequence = sequence
        self.turn = turn
        self.messages = messages
        self.tool_calls = tool_calls
        self.compactions = compactions
        self.last_at = last_at
        self.has_usage = False
        self.has_events = False


class Writer:
    """Writes prepared records of one agent within one transaction; `finish` ends each session's
    part of it. `now` stands for the times that a transcript lacks."""

    def __init__(  # noqa: PLR0913 - what all of a transaction has in common
        self,
        db: sqlite3.Connection,
        agent: str,
        *,
        now: float,
        home: str = "",
        source_path: str = "",
        owner: str = "",
        keys_are_global: bool = False,
        may_begin: bool = True,
    ) -> None:
        self._db = db
        self._agent = agent
        self._now = now
        self._home = home
        self._source_path = source_path
        self._owner = owner
        self._keys_are_global = keys_are_global
        self._may_begin = may_begin
        self._open: dict[str, _Session | None] = {}
        self._current: _Session | None = None
        self.messages = 0
        """How many messages were new."""

    @property
    def session_ids(self) -> tuple[str, ...]:
        """List the sessions that were written to."""
        return tuple(one.id for one in self._open.values() if one is not None)

    def resume(self, session_id: str) -> None:
        """Go on with a session that an earlier transaction began, if there is one."""
        self._current = self._load(session_id) if session_id else None

    def write(self, prepared: Iterable[Prepared]) -> None:
        """Write records in order."""
        for one in prepared:
            record = one.record
            if isinstance(record, SessionRecord):
                self._begin(record)
            elif self._current is None:
                continue  # forgotten, or no session has begun
            elif isinstance(record, MessageRecord):
                self._message(self._current, record, one)
            elif isinstance(record, CompactionRecord):
                self._compaction(self._current, record)
            elif isinstance(record, UsageRecord):
                self._usage(self._current, record)
            elif isinstance(record, CutRecord):
                self._cut(self._current, record)
            else:
                for event in one.events:
                    self._task(self._current, event, self._current.last_at)

    def finish(self) -> str:
        """Bring each session's row up to date; return the id of the current one."""
        for one in self._open.values():
            if one is None:
                continue
            if one.has_events:
                evict_events(self._db, one.id)
            self._db.execute(
                "UPDATE session SET sequence = ?, turn = ?, messages = ?, tool_calls = ?,"
                " compactions = ?, last_at = ?, started_at = COALESCE(started_at, ?),"
                " updated_at = ? WHERE id = ?",
                (
                    one.sequence,
                    one.turn,
                    one.messages,
                    one.tool_calls,
                    one.compactions,
                    one.last_at or self._now,
                    one.last_at or self._now,
                    self._now,
                    one.id,
                ),
            )
            if one.has_usage:
                self._db.execute(
                    "UPDATE session SET (input_tokens, output_tokens) = (SELECT SUM(input),"
                    " SUM(output) FROM usage WHERE session_id = session.id) WHERE id = ?",
                    (one.id,),
                )
        return self._current.id if self._current else ""

    # Sessions

    def _begin(self, record: SessionRecord) -> None:
        session_id = f"{self._agent}:{record.id}"
        if session_id not in self._open:
            self._open[session_id] = self._load(session_id) or self._make(session_id, record)
        self._current = session = self._open[session_id]
        if session is not None:
            self._describe(session, record)

    def _make(self, session_id: str, record: SessionRecord) -> _Session | None:
        forgotten = self._db.execute(
            "SELECT 1 FROM tombstone WHERE session_key = ?", (digest(session_id),)
        ).fetchone()
        if forgotten or not self._may_begin:
            return None
        self._db.execute(
            "INSERT INTO session (id, agent, host_id, owner, source_path, created_at, updated_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                session_id,
                self._agent,
                record.id,
                self._owner,
                self._source_path,
                self._now,
                self._now,
            ),
        )
        return self._load(session_id)

    def _load(self, session_id: str) -> _Session | None:
        if session_id in self._open:
            return self._open[session_id]
        row = self._db.execute(
            "SELECT id, working_directory, sequence, turn, messages, tool_calls, compactions,"
            " last_at FROM session WHERE id = ?",
            (session_id,),
        ).fetchone()
        if row is None:
            return None
        self._open[session_id] = session = _Session(*row)
        return session

    def _describe(self, session: _Session, record: SessionRecord) -> None:
        parent = f"{self._agent}:{record.parent_id}" if record.parent_id else ""
        session.folder = session.folder or record.working_directory
        self._db.execute(
            "UPDATE session SET"
            " parent_id = COALESCE(NULLIF(?, ''), parent_id),"
            " relation = COALESCE(NULLIF(?, ''), relation),"
            " title = COALESCE(NULLIF(?, ''), title),"
            " agent_version = COALESCE(NULLIF(?, ''), agent_version),"
            " working_directory = COALESCE(NULLIF(working_directory, ''), ?),"
            " project_name = COALESCE(NULLIF(project_name, ''), ?),"
            " git_branch = COALESCE(NULLIF(?, ''), git_branch),"
            " started_at = COALESCE(started_at, ?),"
            " ended_at = COALESCE(?, ended_at),"
            " end_reason = COALESCE(NULLIF(?, ''), end_reason)"
            " WHERE id = ?",
            (
                parent,
                record.relation,
                record.title,
                record.agent_version,
                record.working_directory,
                record.working_directory.rstrip("/").rpartition("/")[2],
                record.git_branch,
                record.started_at,
                record.ended_at,
                record.end_reason,
                session.id,
            ),
        )
        if record.metadata:
            self._db.execute(
                "UPDATE session SET metadata = json_patch(metadata, ?) WHERE id = ?",
                (_to_json(record.metadata), session.id),
            )

    # Messages

    def _message(self, session: _Session, record: MessageRecord, one: Prepared) -> None:
        key = self._key(session, record.key)
        if self._is_known(session, key):
            if record.replaces:
                self._replace(session, key, record, one)
            return
        self._note_time(session, record.at)
        if record.is_prompt:
            session.turn += 1
        group = self._key(session, record.group or record.key)
        sequence, step = self._place(session, group)
        if step == 0:
            session.messages += record.role in _COUNTED_ROLES
        session.tool_calls += record.role == "tool_call"
        call = digest("call", record.call_id) if record.call_id else None
        tool = record.tool or self._tool_of(session, call, record.role)
        is_failed = record.failed or bool(record.exit_code)
        self._db.execute(
            "INSERT INTO message (session_id, source_key, group_key, sequence, step, turn, role,"
            " at, content, content_bytes, is_cut, tool_name, tool_params, call_key, exit_code,"
            " is_error, subagent, skill, model, images, thinking_bytes)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                session.id,
                key,
                group,
                sequence,
                step,
                session.turn,
                record.role,
                record.at,
                pack(one.content),
                one.content_bytes,
                _is_cut(one),
                tool or None,
                pack(one.params),
                call,
                record.exit_code,
                is_failed,
                record.subagent or None,
                record.skill or None,
                record.model or None,
                record.images,
                record.thinking_bytes,
            ),
        )
        self.messages += 1
        self._db.execute(
            "INSERT INTO turn VALUES (?, ?, ?, 1)"
            " ON CONFLICT (session_id, number) DO UPDATE SET changed = 1",
            (session.id, session.turn, record.at),
        )
        if record.role == "tool_result":
            self._outcome(session, record, one, call, tool)
        else:
            self._events(session, key, call, record, one)

    def _replace(self, session: _Session, key: bytes, record: MessageRecord, one: Prepared) -> None:
        self._db.execute(
            "UPDATE message SET content = ?, content_bytes = ?, tool_params = ?, exit_code = ?,"
            " is_error = ? WHERE session_id = ? AND source_key = ?",
            (
                pack(one.content),
                one.content_bytes,
                pack(one.params),
                record.exit_code,
                record.failed or bool(record.exit_code),
                session.id,
                key,
            ),
        )

    def _key(self, session: _Session, key: str) -> bytes:
        return digest(key) if self._keys_are_global else digest(session.id, key)

    def _is_known(self, session: _Session, key: bytes) -> bool:
        """Tell whether a message is there; one that another session has is a copy of it."""
        row = self._db.execute(
            "SELECT session_id FROM message WHERE source_key = ?", (key,)
        ).fetchone()
        if row is not None and row[0] != session.id:
            self._db.execute(
                "UPDATE session SET parent_id = ?, relation = 'fork'"
                " WHERE id = ? AND relation = ''",
                (row[0], session.id),
            )
        return row is not None

    def _place(self, session: _Session, group: bytes) -> tuple[int, int]:
        """Return the sequence and the step of a group's next row."""
        row = self._db.execute(
            "SELECT sequence, MAX(step) FROM message WHERE session_id = ? AND group_key = ?",
            (session.id, group),
        ).fetchone()
        if row[0] is not None:
            return row[0], row[1] + 1
        session.sequence += 1
        return session.sequence, 0

    def _tool_of(self, session: _Session, call: bytes | None, role: str) -> str:
        if call is None or role != "tool_result":
            return ""
        row = self._db.execute(
            "SELECT tool_name FROM message WHERE session_id = ? AND call_key = ?"
            " AND role = 'tool_call'",
            (session.id, call),
        ).fetchone()
        return (row and row[0]) or ""

    def _note_time(self, session: _Session, at: float | None) -> None:
        if at is not None and (session.last_at is None or at > session.last_at):
            session.last_at = at

    # Events

    def _events(
        self,
        session: _Session,
        key: bytes,
        call: bytes | None,
        record: MessageRecord,
        one: Prepared,
    ) -> None:
        if one.is_task_list:
            self._db.execute(
                "UPDATE event SET state = 'closed' WHERE session_id = ? AND state = 'open'"
                " AND category = 'task'",
                (session.id,),
            )
        for index, event in enumerate(one.events):
            if event.category == "prompt" and session.turn == 1:
                self._set_first_title(session, event.text)
            if event.category == "task":
                self._task(session, event, record.at)
                continue
            shown = self._shorten_path(session, event)
            if event.category in ("constraint", "decision", "rejected"):
                of = digest(event.category, event.text)
            else:
                of = digest((call or key).hex(), str(index))
            self._add(session, of, shown, record.at)
            self._touch(session, shown, record.at)

    def _set_first_title(self, session: _Session, prompt: str) -> None:
        """Call a session by its first prompt, until its host gives it a title."""
        self._db.execute(
            "UPDATE session SET title = ? WHERE id = ? AND title = ''",
            (cut_bytes(prompt, TITLE_BYTES_MAX), session.id),
        )

    def _add(self, session: _Session, key: bytes, event: Event, at: float | None) -> None:
        self._db.execute(
            "INSERT OR IGNORE INTO event (session_id, turn, at, category, priority, text, target,"
            " state, key) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                session.id,
                session.turn,
                at,
                event.category,
                event.priority,
                event.text,
                event.target,
                event.state,
                key,
            ),
        )
        session.has_events = True

    def _task(self, session: _Session, event: Event, at: float | None) -> None:
        """Add a task, or change the state of the one that is known; a text may be missing then."""
        key = digest(event.target)
        changed = self._db.execute(
            "UPDATE event SET state = ?, text = COALESCE(NULLIF(?, ''), text), at = ?"
            " WHERE session_id = ? AND key = ?",
            (event.state, event.text, at, session.id, key),
        ).rowcount
        if not changed and event.text:
            self._add(session, key, event, at)

    def _shorten_path(self, session: _Session, event: Event) -> Event:
        if event.category not in ("file_edit", "file_read"):
            return event
        path = shorten_path(event.target, session.folder, self._home)
        return event._replace(text=path, target=path)

    def _touch(self, session: _Session, event: Event, at: float | None) -> None:
        if event.category not in ("file_edit", "file_read"):
            return
        action: str = event.action or "read"
        if action == "created" and self._is_touched(session, event.target):
            action = "modified"
        self._db.execute(
            "INSERT INTO file_touch VALUES (?, ?, ?, 1, ?, ?)"
            " ON CONFLICT (session_id, path, action) DO UPDATE SET count = count + 1,"
            " last_at = COALESCE(excluded.last_at, last_at)",
            (session.id, event.target, action, at, at),
        )

    def _is_touched(self, session: _Session, path: str) -> bool:
        row = self._db.execute(
            "SELECT 1 FROM file_touch WHERE session_id = ? AND path = ? AND action <> 'deleted'",
            (session.id, path),
        ).fetchone()
        return row is not None

    def _outcome(
        self, session: _Session, record: MessageRecord, one: Prepared, call: bytes | None, tool: str
    ) -> None:
        """Note on a call's events how it went; a failure is an error, a success closes it."""
        events = self._events_of_call(session, call)
        targets = [target for _, category, target in events if category in _CLOSING]
        if record.is_denied:
            self._set_state(events, "denied")
            text = next((t.removeprefix("$ ") for t in targets), "") or tool
            denied = Event("denied", text, target=text)
            self._add(session, digest(call.hex() if call else "", "denied"), denied, record.at)
        elif record.failed or record.exit_code:
            self._set_state(events, "failed")
            target = next(iter(targets), "") or tool
            self._drop_error(session, target)
            key = digest(call.hex() if call else record.key, "error")
            self._add(session, key, of_error(target, one.head), record.at)
        else:
            for target in targets:
                self._db.execute(
                    "UPDATE event SET state = 'closed', priority = ? WHERE session_id = ?"
                    " AND target = ? AND state = 'open' AND category = 'error'",
                    (CLOSED_ERROR_PRIORITY, session.id, target),
                )
            if one.commit:
                self._note_commit(events, one.commit)
        if record.is_denied or record.failed:
            self._undo_touches(session, events)

    def _events_of_call(self, session: _Session, call: bytes | None) -> list[tuple[int, str, str]]:
        if call is None:
            return []
        found = []
        for index in range(64):  # a call has few events; the first that is missing ends them
            row = self._db.execute(
                "SELECT id, category, target FROM event WHERE session_id = ? AND key = ?",
                (session.id, digest(call.hex(), str(index))),
            ).fetchone()
            if row is None:
                break
            found.append(row)
        return found

    def _set_state(self, events: list[tuple[int, str, str]], state: str) -> None:
        ids = [(state, one[0]) for one in events]
        self._db.executemany("UPDATE event SET state = ? WHERE id = ?", ids)

    def _drop_error(self, session: _Session, target: str) -> None:
        """Of errors of one command only the latest is open."""
        self._db.execute(
            "DELETE FROM event WHERE session_id = ? AND target = ? AND state = 'open'"
            " AND category = 'error'",
            (session.id, target),
        )

    def _note_commit(self, events: list[tuple[int, str, str]], commit: str) -> None:
        ids = [(commit, one[0]) for one in events if one[1] == "git"]
        self._db.executemany("UPDATE event SET state = ? WHERE id = ?", ids)

    def _undo_touches(self, session: _Session, events: list[tuple[int, str, str]]) -> None:
        for _, category, target in events:
            if category in ("file_edit", "file_read"):
                is_read = category == "file_read"
                self._db.execute(
                    "UPDATE file_touch SET count = count - 1 WHERE session_id = ? AND path = ?"
                    " AND (action = 'read') = ?",
                    (session.id, target, is_read),
                )
        self._db.execute(
            "DELETE FROM file_touch WHERE session_id = ? AND count <= 0", (session.id,)
        )

    # Compactions, tokens, cuts

    def _compaction(self, session: _Session, record: CompactionRecord) -> None:
        key = self._key(session, f"compaction:{record.key}")
        known = self._db.execute(
            "SELECT id, session_id FROM message WHERE source_key = ?", (key,)
        ).fetchone()
        if known is not None and known[1] != session.id:
            return  # a fork's copy
        if known is not None:
            self._db.execute(
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
            return
        self._note_time(session, record.at)
        session.sequence += 1
        session.compactions += 1
        self._db.execute(
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
        self._add(session, digest(key.hex(), "0"), Event("compaction", text), record.at)

    def _usage(self, session: _Session, record: UsageRecord) -> None:
        key = (
            digest(record.response_id)
            if self._keys_are_global
            else digest(session.id, record.response_id)
        )
        owner = self._db.execute(
            "SELECT session_id FROM usage WHERE response_key = ?", (key,)
        ).fetchone()
        of = owner[0] if owner and self._keys_are_global else session.id
        self._db.execute(
            "INSERT INTO usage VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (session_id, response_key) DO UPDATE SET model = excluded.model,"
            " at = COALESCE(at, excluded.at), input = excluded.input, output = excluded.output,"
            " cache_read = excluded.cache_read, cache_write = excluded.cache_write,"
            " reasoning = excluded.reasoning"
            " WHERE COALESCE(excluded.output, -1) > COALESCE(output, -1)",
            (
                of,
                key,
                self._key(session, record.group) if record.group else None,
                record.model,
                record.at,
                record.input,
                record.output,
                record.cache_read,
                record.cache_write,
                record.reasoning,
            ),
        )
        if of == session.id:
            session.has_usage = True
        elif (other := self._load(of)) is not None:
            other.has_usage = True

    def _cut(self, session: _Session, record: CutRecord) -> None:
        group = self._key(session, record.group)
        row = self._db.execute(
            "SELECT MIN(sequence), MIN(turn) FROM message WHERE session_id = ? AND group_key = ?",
            (session.id, group),
        ).fetchone()
        if row[0] is None:
            return
        gone = self._db.execute(
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
            self._db.execute(
                f"DELETE FROM {table} WHERE session_id = ? AND {column} >= ?",  # noqa: S608 - fixed
                (session.id, first),
            )
        session.sequence, session.turn = row[0] - 1, max(row[1] - 1, 0)


def shorten_path(path: str, folder: str, home: str) -> str:
    """Return a path as the session's folder sees it, or from the home on; else as it is."""
    plain = _normalise(path)
    for root, prefix in ((folder, ""), (home, "~/")):
        base = root.rstrip("/")
        if base and plain.startswith(base + "/"):
            return prefix + plain[len(base) + 1 :]
    return plain


def _normalise(path: str) -> str:
    """Take `.` and doubled slashes out of a path; `..` stays, since a link may stand before it."""
    lead = "/" if path.startswith("/") else ""
    return lead + "/".join(part for part in path.split("/") if part not in ("", ".")) or path


def pack(text: str | None) -> bytes | None:
    """Deflate a text to be stored."""
    return None if text is None else zlib.compress(text.encode(), 6)


def unpack(data: bytes | None) -> str | None:
    """Restore a text that was deflated."""
    return None if data is None else zlib.decompress(data).decode()


def _is_cut(one: Prepared) -> bool:
    return one.content is not None and len(one.content.encode()) < one.content_bytes


def _to_json(value: object) -> str:
    import json  # noqa: PLC0415 - few sessions have any

    return json.dumps(value, ensure_ascii=False)
