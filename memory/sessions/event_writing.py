"""Writing of events: actions of calls, their outcomes, and the files they touched.

If a session has too many events, unimportant ones are deleted, the oldest first.
"""

from __future__ import annotations

import sqlite3

from memory.sessions.events import (
    CLOSED_ERROR_PRIORITY,
    EVENTS_OF_CALL_MAX,
    Event,
    guess_action,
    of_error,
)
from memory.sessions.preparing import Prepared, key_of
from memory.sessions.records import MessageRecord
from memory.sessions.session_rows import OpenSession
from memory.texts import cut_bytes, shorten_path

EVENTS_MAX = 1000

TITLE_BYTES_MAX = 80
_CLOSING = ("command", "git", "look", "file_edit", "file_read")


def evict_events(db: sqlite3.Connection, session_id: str, events_max: int = EVENTS_MAX) -> int:
    """Delete the excess events in the transaction that added it; return how many remain. The
    highest priority number is deleted first, and within it the oldest event."""
    count = db.execute("SELECT COUNT(*) FROM event WHERE session_id = ?", (session_id,)).fetchone()
    too_many = max(int(count[0]) - events_max, 0)
    for _ in range(too_many):  # usually one: two steps in an index, and no sorting
        db.execute(
            "DELETE FROM event WHERE id = (SELECT MIN(id) FROM event WHERE session_id = ?1"
            " AND priority = (SELECT MAX(priority) FROM event WHERE session_id = ?1))",
            (session_id,),
        )
    return int(count[0]) - too_many


class EventWriter:
    """Writer of events within one transaction. `home` is the folder that `~` stands for."""

    def __init__(self, db: sqlite3.Connection, home: str) -> None:
        self._db = db
        self._home = home

    def write_events(
        self,
        session: OpenSession,
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
                self.write_task(session, event, record.at)
                continue
            shown = self._shorten_path(session, event)
            if event.category in ("constraint", "decision", "rejected"):
                of = key_of(event.category, event.text)
            else:
                of = key_of((call or key).hex(), str(index))
            self.add(session, of, shown, record.at)
            self._touch(session, shown, record.at)

    def _set_first_title(self, session: OpenSession, prompt: str) -> None:
        """Use the first prompt as a session's title, until its host sets one."""
        self._db.execute(
            "UPDATE session SET title = ? WHERE id = ? AND title = ''",
            (cut_bytes(prompt, TITLE_BYTES_MAX), session.id),
        )

    def add(self, session: OpenSession, key: bytes, event: Event, at: float | None) -> None:
        of = {"session": session.id, "turn": session.turn, "at": at, "key": key}
        session.events += self._db.execute(
            "INSERT OR IGNORE INTO event (session_id, turn, at, category, priority, text, target,"
            " state, key) VALUES (:session, :turn, :at, :category, :priority, :text, :target,"
            " :state, :key)",
            {**event._asdict(), **of, "priority": event.priority},
        ).rowcount
        # At once, not at the end: so the same events remain however the reading is divided.
        if session.events > EVENTS_MAX:
            session.events = evict_events(self._db, session.id)

    def write_task(self, session: OpenSession, event: Event, at: float | None) -> None:
        """Add a task, or change the state of a known one; its text may then be missing."""
        key = key_of(event.target)
        changed = self._db.execute(
            "UPDATE event SET state = ?, text = COALESCE(NULLIF(?, ''), text), at = ?"
            " WHERE session_id = ? AND key = ?",
            (event.state, event.text, at, session.id, key),
        ).rowcount
        if not changed and event.text:
            self.add(session, key, event, at)

    def _shorten_path(self, session: OpenSession, event: Event) -> Event:
        if event.category not in ("file_edit", "file_read"):
            return event
        path = shorten_path(event.target, session.folder, self._home)
        return event._replace(text=path, target=path)

    def _touch(self, session: OpenSession, event: Event, at: float | None) -> None:
        """Note the effect of a call on a file, from its arguments: a second creation is a
        change."""
        if event.category not in ("file_edit", "file_read"):
            return
        action: str = event.action or "read"
        if action == "created" and self._is_touched(session, event.target):
            action = "modified"
        self._count_touch(session, event.target, action, at)

    def _count_touch(self, session: OpenSession, path: str, action: str, at: float | None) -> None:
        self._db.execute(
            "INSERT INTO file_touch VALUES (?, ?, ?, 1, ?, ?)"
            " ON CONFLICT (session_id, path, action) DO UPDATE SET count = count + 1,"
            " last_at = COALESCE(excluded.last_at, last_at)",
            (session.id, path, action, at, at),
        )

    def _is_touched(self, session: OpenSession, path: str) -> bool:
        row = self._db.execute(
            "SELECT 1 FROM file_touch WHERE session_id = ? AND path = ? AND action <> 'deleted'",
            (session.id, path),
        ).fetchone()
        return row is not None

    def write_outcome(
        self,
        session: OpenSession,
        record: MessageRecord,
        one: Prepared,
        call: bytes | None,
        tool: str,
    ) -> None:
        """Note the outcome of a call on its events; a failure is an error, a success closes it."""
        events = self._events_of_call(session, call)
        targets = [target for _, category, target in events if category in _CLOSING]
        if record.is_denied:
            self._set_state(events, "denied")
            text = next((t.removeprefix("$ ") for t in targets), "") or tool
            denied = Event("denied", text, target=text)
            self.add(session, key_of(call.hex() if call else "", "denied"), denied, record.at)
        elif record.failed or record.exit_code:
            self._set_state(events, "failed")
            target = next(iter(targets), "") or tool
            self._drop_error(session, target)  # first, or it would delete the new event, too
            key = key_of(call.hex() if call else record.key, "error")
            self.add(session, key, of_error(target, one.head), record.at)
        else:
            # Before errors are closed: files in the result close their errors, too.
            targets += self._write_files(session, record, one.events, events, call, tool)
            for target in targets:
                self._db.execute(
                    "UPDATE event SET state = 'closed', priority = ? WHERE session_id = ?"
                    " AND target = ? AND state = 'open' AND category = 'error'",
                    (CLOSED_ERROR_PRIORITY, session.id, target),
                )
            if one.commit:
                self._note_commit(events, one.commit)
        if record.is_denied or record.failed:
            self._undo_touches(session, events, tool)

    def _write_files(  # noqa: PLR0913, PLR0917 - a call and its result
        self,
        session: OpenSession,
        record: MessageRecord,
        changed: tuple[Event, ...],
        events: list[tuple[int, str, str]],
        call: bytes | None,
        tool: str,
    ) -> list[str]:
        """Note the files in a result; return those that the call's arguments did not name. For the
        others the edit is already counted, so only its action is corrected."""
        told = {target for _, category, target in events if category == "file_edit"}
        others: list[str] = []
        for event in changed:
            shown = self._shorten_path(session, event)
            if shown.target in told:
                self._undo_touch(session, shown.target, _edits_of(tool))
            elif shown.target not in others:
                others.append(shown.target)
                of = call.hex() if call else record.key
                self.add(session, key_of(of, "file", shown.target), shown, record.at)
            else:
                continue
            self._count_touch(session, shown.target, event.action, record.at)
        self._drop_untouched(session)
        return others

    def _events_of_call(
        self, session: OpenSession, call: bytes | None
    ) -> list[tuple[int, str, str]]:
        if call is None:
            return []
        found = []
        for index in range(2 * EVENTS_OF_CALL_MAX):  # the first missing one ends them
            row = self._db.execute(
                "SELECT id, category, target FROM event WHERE session_id = ? AND key = ?",
                (session.id, key_of(call.hex(), str(index))),
            ).fetchone()
            if row is None:
                break
            found.append(row)
        return found

    def _set_state(self, events: list[tuple[int, str, str]], state: str) -> None:
        ids = [(state, one[0]) for one in events]
        self._db.executemany("UPDATE event SET state = ? WHERE id = ?", ids)

    def _drop_error(self, session: OpenSession, target: str) -> None:
        """Drop older errors of the same command, so that only the latest is open."""
        self._db.execute(
            "DELETE FROM event WHERE session_id = ? AND target = ? AND state = 'open'"
            " AND category = 'error'",
            (session.id, target),
        )

    def _note_commit(self, events: list[tuple[int, str, str]], commit: str) -> None:
        ids = [(commit, one[0]) for one in events if one[1] == "git"]
        self._db.executemany("UPDATE event SET state = ? WHERE id = ?", ids)

    def _undo_touches(
        self, session: OpenSession, events: list[tuple[int, str, str]], tool: str
    ) -> None:
        """Undo the file actions noted for a call that failed."""
        for _, category, target in events:
            if category == "file_read":
                self._undo_touch(session, target, ("read",))
            elif category == "file_edit":
                self._undo_touch(session, target, _edits_of(tool))
        self._drop_untouched(session)

    def _undo_touch(self, session: OpenSession, path: str, actions: tuple[str, ...]) -> None:
        """Undo one action, the first one noted. A file created before stays created, since a second
        creation is noted as a change."""
        for action in actions:
            changed = self._db.execute(
                "UPDATE file_touch SET count = count - 1 WHERE session_id = ? AND path = ?"
                " AND action = ?",
                (session.id, path, action),
            )
            if changed.rowcount:
                return

    def _drop_untouched(self, session: OpenSession) -> None:
        self._db.execute(
            "DELETE FROM file_touch WHERE session_id = ? AND count <= 0", (session.id,)
        )


def _edits_of(tool: str) -> tuple[str, ...]:
    """List the possible noted actions of an edit by this tool, the likeliest first."""
    edits = ("modified", "created")
    is_deletion = guess_action(tool.lower()) == "deleted"
    return ("deleted", *edits) if is_deletion else (*edits, "deleted")
