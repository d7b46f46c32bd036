"""Writing of prepared records to the tables, in one short transaction.

Each message has a key, so the same record again changes nothing; evicted events do not return
either. Counts change in the transaction that adds the counted rows.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable

from memory.sessions.event_writing import EventWriter
from memory.sessions.preparing import Prepared, key_of
from memory.sessions.records import (
    CompactionRecord,
    CutRecord,
    MessageRecord,
    OutcomeRecord,
    PlainKey,
    SessionRecord,
    UsageRecord,
)
from memory.sessions.session_rows import (
    OpenSession,
    comes_from_elsewhere,
    cut,
    read_hooked,
    write_compaction,
    write_outcome,
    write_usage,
)
from memory.texts import pack

_COUNTED_ROLES = ("user", "assistant", "tool_call")


class Writer:
    """Writer of one agent's prepared records within one transaction; `finish` ends each session's
    part. `now` replaces missing times; `imported_at` is when a user had new sessions imported."""

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
        is_from_hooks: bool = False,
        imported_at: float = 0.0,
    ) -> None:
        self._db = db
        self._agent = agent
        self._now = now
        self._imported_at = imported_at
        self._events = EventWriter(db, home)
        self._source_path = source_path
        self._owner = owner
        self._keys_are_global = keys_are_global
        self._may_begin = may_begin
        self._is_from_hooks = is_from_hooks
        self._open: dict[str, OpenSession | None] = {}
        self._current: OpenSession | None = None
        self._is_copy = False
        self._has_tombstones = db.execute("SELECT 1 FROM tombstone LIMIT 1").fetchone() is not None
        self.messages = 0
        """The number of new messages."""

    @property
    def session_ids(self) -> tuple[str, ...]:
        """List the sessions that were written to."""
        return tuple(one.id for one in self._open.values() if one is not None)

    def resume(self, session_id: str) -> None:
        """Continue a session of an earlier transaction; an expired one begins from scratch."""
        if session_id and self._load(session_id) is None:
            self._begin(SessionRecord(session_id.removeprefix(f"{self._agent}:")))
        elif session_id:
            self._current = self._load(session_id)

    def write(self, prepared: Iterable[Prepared]) -> None:
        """Write records in order."""
        for one in prepared:
            record = one.record
            if isinstance(record, SessionRecord):
                self._begin(record)
            elif self._current is None:
                continue  # deleted permanently, or no session has started
            elif isinstance(record, MessageRecord):
                self._message(self._current, record, one)
            elif isinstance(record, CompactionRecord):
                self._compaction(self._current, record)
            elif isinstance(record, UsageRecord):
                self._usage(self._current, record)
            elif isinstance(record, OutcomeRecord):
                self._current.outcome = record
            elif isinstance(record, CutRecord):
                cut(self._db, self._current, self._key(self._current, record))
            elif not self._is_copy:  # the result that reports a task is new
                for event in one.events:
                    self._events.write_task(self._current, event, self._current.last_at)

    def finish(self) -> str:
        """Update each session's row; return the id of the current one."""
        for one in self._open.values():
            if one is None:
                continue
            self._db.execute(
                # If no record has a time, `now` is used. The first time replaces the transcript's,
                # whenever it comes. Activity resets a status set by a user.
                "UPDATE session SET sequence = :sequence, turn = :turn, messages = :messages,"
                " tool_calls = :tool_calls, compactions = :compactions, last_at ="
                " COALESCE(:last_at, IIF(:is_changed, MAX(last_at, :now), last_at), :now),"
                " started_at = COALESCE(MIN(started_at, IIF(:was_timeless, :first_at, NULL)),"
                " started_at, :first_at, IIF(:last_at IS NULL, :now, NULL)),"
                " status = IIF(:is_changed, '', status), updated_at = :now WHERE id = :id",
                {**vars(one), "now": self._now},
            )
            if one.outcome is not None:
                write_outcome(self._db, one.id, one.outcome, one.last_at)
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

    def _make(self, session_id: str, record: SessionRecord) -> OpenSession | None:
        ids = [session_id]
        if record.relation == "subagent":
            ids.append(f"{self._agent}:{record.parent_id}")
        if any(self._is_forgotten(key_of(one)) for one in ids) or not self._may_begin:
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
                self._imported_at,
                self._now,
            ),
        )
        return self._load(session_id)

    def _is_forgotten(self, key: bytes) -> bool:
        row = (
            self._has_tombstones
            and self._db.execute("SELECT 1 FROM tombstone WHERE session_key = ?", (key,)).fetchone()
        )
        return bool(row)

    def _load(self, session_id: str) -> OpenSession | None:
        if session_id in self._open:
            return self._open[session_id]
        row = self._db.execute(
            "SELECT id, working_directory AS folder, sequence, turn, messages, tool_calls,"
            " compactions, IIF(EXISTS (SELECT 1 FROM message WHERE session_id = session.id"
            " AND at IS NOT NULL), last_at, NULL) AS last_at, (SELECT COUNT(*) FROM event"
            " WHERE session_id = session.id) AS events,"
            " COALESCE(json_extract(metadata, '$.hooks'), '') AS hooked FROM session WHERE id = ?",
            (session_id,),
        )
        if (found := row.fetchone()) is None:
            return None
        names = (column[0] for column in row.description)
        self._open[session_id] = session = OpenSession(dict(zip(names, found, strict=True)))
        return session

    def _describe(self, session: OpenSession, record: SessionRecord) -> None:
        parent = f"{self._agent}:{record.parent_id}" if record.parent_id else ""
        if record.relation == "subagent" and not session.hooked:
            session.hooked = read_hooked(self._db, parent)
        session.folder = session.folder or record.working_directory
        project = record.working_directory.rstrip("/").rpartition("/")[2]
        if record.last_at is not None:
            session.note_time(record.last_at)
        self._db.execute(
            "UPDATE session SET"
            " parent_id = COALESCE(NULLIF(:parent, ''), parent_id),"
            " relation = COALESCE(NULLIF(:relation, ''), relation),"
            " title = COALESCE(NULLIF(:title, ''), title),"
            " agent_version = COALESCE(NULLIF(:agent_version, ''), agent_version),"
            " working_directory = COALESCE(NULLIF(working_directory, ''), :working_directory),"
            " project_name = COALESCE(NULLIF(project_name, ''), :project),"
            " git_branch = COALESCE(NULLIF(:git_branch, ''), git_branch),"
            " started_at = COALESCE(started_at, :started_at),"
            " ended_at = COALESCE(:ended_at, ended_at),"
            " end_reason = COALESCE(NULLIF(:end_reason, ''), end_reason)"
            " WHERE id = :id",
            {**record._asdict(), "id": session.id, "parent": parent, "project": project},
        )
        if record.metadata:
            self._db.execute(
                "UPDATE session SET metadata = json_patch(metadata, ?) WHERE id = ?",
                (json.dumps(record.metadata, ensure_ascii=False), session.id),
            )

    # Messages

    def _message(self, session: OpenSession, record: MessageRecord, one: Prepared) -> None:
        # Before its key is looked up: hooks and transcripts have different keys for the same
        # message, which would be stored twice.
        if comes_from_elsewhere(self._db, session, record.role, by_hooks=self._is_from_hooks):
            return
        key = self._key(session, record.key)
        self._is_copy = self._is_known(session, key)
        if self._is_copy:
            if record.replaces:
                self._replace(session, key, record, one)
            return
        # Counting begins here: records that are read again must change no number.
        session.is_changed = True
        session.note_time(record.at)
        # Before the row is written, so that a prompt is the first message of its own turn.
        if record.is_prompt:
            session.turn += 1
        group = self._key(session, record.group or record.key)
        sequence, step, is_counted = self._place(session, group)
        if not is_counted:
            session.messages += record.role in _COUNTED_ROLES
        session.tool_calls += record.role == "tool_call"
        call = _call_key(record.call_id)
        tool = record.tool or self._tool_of(session, call, record.role)
        is_failed = record.failed or bool(record.exit_code)
        self._db.execute(
            "INSERT INTO message (session_id, source_key, group_key, sequence, step, turn, role,"
            " at, content, content_bytes, is_cut, tool_name, tool_params, call_key, exit_code,"
            " is_error, subagent, skill, model, images, thinking_bytes)"
            " VALUES (:session, :key, :group, :sequence, :step, :turn, :role, :at, :content, :size,"
            " :is_cut, NULLIF(:tool, ''), :params, :call, :exit_code, :failed,"
            " NULLIF(:subagent, ''), NULLIF(:skill, ''), NULLIF(:model, ''), :images,"
            " :thinking_bytes)",
            {
                **record._asdict(),
                "session": session.id,
                "key": key,
                "group": group,
                "turn": session.turn,
                "sequence": sequence,
                "step": step,
                "call": call,
                "tool": tool,
                "content": pack(one.content),
                "size": one.content_bytes,
                "is_cut": _is_cut(one),
                "params": pack(one.params),
                "failed": is_failed,
            },
        )
        self.messages += 1
        if session.turn != session.changed_turn:
            session.changed_turn = session.turn
            self._db.execute(
                "INSERT INTO turn VALUES (?, ?, ?, 1)"
                " ON CONFLICT (session_id, number) DO UPDATE SET changed = 1",
                (session.id, session.turn, record.at),
            )
        # After the row: an event that is evicted now has its message, and does not return.
        if record.role == "tool_result":
            self._events.write_outcome(session, record, one, call, tool)
        else:
            self._events.write_events(session, key, call, record, one)

    def _replace(
        self, session: OpenSession, key: bytes, record: MessageRecord, one: Prepared
    ) -> None:
        self._db.execute(
            "UPDATE message SET content = ?, content_bytes = ?, is_cut = ?, tool_params = ?,"
            " exit_code = ?, is_error = ? WHERE session_id = ? AND source_key = ?",
            (
                pack(one.content),
                one.content_bytes,
                _is_cut(one),
                pack(one.params),
                record.exit_code,
                record.failed or bool(record.exit_code),
                session.id,
                key,
            ),
        )

    def _key(self, session: OpenSession, key: str) -> bytes:
        if isinstance(key, PlainKey):
            return bytes.fromhex(key)
        return key_of(key) if self._keys_are_global else key_of(session.id, key)

    def _is_known(self, session: OpenSession, key: bytes) -> bool:
        """Return whether a message is stored; one that another session has is a copy of it."""
        row = self._db.execute(
            "SELECT session_id FROM message WHERE source_key = ?", (key,)
        ).fetchone()
        if row is not None and row[0] != session.id:
            self._db.execute(
                "UPDATE session SET parent_id = ?, relation = 'fork'"
                " WHERE id = ? AND relation = ''",
                (row[0], session.id),
            )
        return row is not None or self._is_forgotten(key)

    def _place(self, session: OpenSession, group: bytes) -> tuple[int, int, bool]:
        """Return the sequence and the step of a group's next row, and whether one of its rows
        counts as a message."""
        row = self._db.execute(
            "SELECT sequence, MAX(step), MAX(role IN ('user', 'assistant', 'tool_call'))"
            " FROM message WHERE session_id = ? AND group_key = ?",
            (session.id, group),
        ).fetchone()
        if row[0] is not None:
            return row[0], row[1] + 1, bool(row[2])
        session.sequence += 1
        return session.sequence, 0, False

    def _tool_of(self, session: OpenSession, call: bytes | None, role: str) -> str:
        if call is None or role != "tool_result":
            return ""
        row = self._db.execute(
            "SELECT tool_name FROM message WHERE session_id = ? AND call_key = ?"
            " AND role = 'tool_call'",
            (session.id, call),
        ).fetchone()
        return (row and row[0]) or ""

    # Compactions, tokens, cuts

    def _compaction(self, session: OpenSession, record: CompactionRecord) -> None:
        is_plain = isinstance(record.key, PlainKey)
        key = self._key(session, record.key if is_plain else f"compaction:{record.key}")
        if self._is_forgotten(key):
            return
        if event := write_compaction(self._db, session, record, key):
            self._events.add(session, key_of(key.hex(), "0"), event, record.at)

    def _usage(self, session: OpenSession, record: UsageRecord) -> None:
        key = self._key(session, record.response_id)
        if self._is_forgotten(key):
            return
        owner = self._db.execute(
            "SELECT session_id FROM usage WHERE response_key = ?", (key,)
        ).fetchone()
        of = owner[0] if owner and self._keys_are_global else session.id
        group = self._key(session, record.group) if record.group else None
        write_usage(self._db, of, key, group, record)
        if of == session.id:
            session.has_usage = True
        elif (other := self._load(of)) is not None:
            other.has_usage = True


def _call_key(call_id: str) -> bytes | None:
    if isinstance(call_id, PlainKey):
        return bytes.fromhex(call_id)
    return key_of("call", call_id) if call_id else None


def _is_cut(one: Prepared) -> bool:
    return one.content is not None and len(one.content.encode()) < one.content_bytes
