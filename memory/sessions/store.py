"""The open store of one project's sessions: one SQLite file that several processes write to.

Usable by one thread at a time; each opens its own.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from base.stores import WAIT_S, Database, OpenStore, name_lock, share_file
from memory.errors import StoreUnavailableError
from memory.gate import FindSecrets, Gate
from memory.sessions import session_news
from memory.sessions.events import ParseCall
from memory.sessions.importers.importer import Ground, Importer, Transcript
from memory.sessions.importing import Imported, Importing, import_source
from memory.sessions.preparing import Preparer
from memory.sessions.records import Record
from memory.sessions.session_news import read_events
from memory.sessions.session_rows import STEPS
from memory.sessions.snapshot import SNAPSHOT_BYTES_MAX, build_snapshot
from memory.sessions.sources import count_unread, find_form, forget_source, needs_reading
from memory.sessions.writing import Writer

# Hooks load this module and do not need these.
if TYPE_CHECKING:
    from base.plain_files import StrPath
    from memory.sessions.maintenance import Summary
    from memory.sessions.model import Message, Session

NO_DEADLINE = float("inf")
COPIES_KEPT = 2
"""Copies of each store: transcripts have most of the data, too, and the store may be large."""

JUST_NOW_S = 5.0
"""Some hosts send two hook events for one compaction: within this time, a snapshot is only given
again if a new one waits."""


class SessionStore(OpenStore):
    """Sessions of one project. Reading functions (`reading`, `keeping`) use the connection of
    `database.reading()` and `database.writing()`."""

    def __init__(  # noqa: PLR0913 - what this room is handed, since it imports no other
        self,
        path: StrPath,
        *,
        find_secrets: FindSecrets,
        parse_call: ParseCall,
        belongs: Callable[[str], bool] | None = None,
        keep_messages: bool = False,
        home: str = "",
        owner: str = "",
        create: bool = True,
        read_only: bool = False,
        wait_s: float = WAIT_S,
        is_verified: bool = False,
    ) -> None:
        """Open the file; create it if it is missing. A damaged one is set aside and replaced by its
        last daily copy, which `describe_damage` reports. `find_secrets` finds secrets, which are
        not stored; `parse_call` reads tool calls. `belongs` says whether a working directory is of
        this project; None accepts all. Texts of messages are stored only with `keep_messages`. With
        `read_only` the file is never changed, even if damaged. `wait_s` limits the wait for other
        writers. With `is_verified` the file is checked for damage, if it is not unusually large.

        Raises:
            StoreUnavailableError: it is missing and not to be made, or cannot be opened.
        """
        self._held = ExitStack()
        self._wait_s = wait_s
        self._open = partial(
            Database,
            path,
            STEPS,
            holds="sessions",
            create=create,
            read_only=read_only,
            wait_s=wait_s,
        )
        self.database = (
            self._open() if read_only else self._open_shared(path, wait_s, is_verified=is_verified)
        )
        self._gate = Gate(find_secrets)
        self._parse_call = parse_call
        self._keep_messages = keep_messages
        self._importing = Importing(
            self.database, self._gate, self._make_preparer, belongs, home, owner
        )

    def _open_shared(self, path: StrPath, wait_s: float, *, is_verified: bool) -> Database:
        """Open a file for shared writing; repair it first if it is damaged."""
        if _is_empty(path):
            from base.stores import is_lost, restore_last_copy  # noqa: PLC0415

            if is_lost(path):
                restore_last_copy(path, wait_s)
        try:
            return self._open_once(path, wait_s, is_verified=is_verified)
        except StoreUnavailableError as error:
            from base.stores import is_damage, restore_last_copy  # noqa: PLC0415

            if not is_damage(error):
                raise
            restore_last_copy(path, wait_s)
        return self._open_once(path, wait_s, is_verified=False)

    def _open_once(self, path: StrPath, wait_s: float, *, is_verified: bool) -> Database:
        with ExitStack() as held:
            held.enter_context(share_file(path, wait_s, at=name_lock(path)))
            database = self._open()
            held.callback(database.close)
            if is_verified and not database.is_read_only:
                from base.stores import verify_structure  # noqa: PLC0415 - hooks have no time

                verify_structure(database)
            self._held = held.pop_all()
        return database

    def copy_daily(self, *, again: bool = False) -> None:
        """Copy the file if that was not done today, or if `again`, to limit the loss by damage. A
        file found damaged is replaced as when it is opened.

        Raises:
            StoreUnavailableError: it is damaged, and others have it open.
            OSError: the copy cannot be written.
        """
        from base.stores import copy_daily, is_damage, restore_last_copy  # noqa: PLC0415

        if self.database.is_read_only:
            return
        try:
            copy_daily(self.database, time.time(), COPIES_KEPT, again=again)
        except StoreUnavailableError as error:
            if not is_damage(error):
                raise
            path = self.database.path
            self.close()
            restore_last_copy(path, self._wait_s)
            self.database = self._open_once(path, self._wait_s, is_verified=False)
            self._importing = self._importing._replace(database=self.database)

    def _make_preparer(self) -> Preparer:
        return Preparer(self._gate, self._parse_call, keep_messages=self._keep_messages)

    def import_transcript(
        self, importer: Importer, found: Transcript, *, deadline: float = NO_DEADLINE
    ) -> Imported:
        """Read the new part of one transcript, like `importing.import_source`."""
        return import_source(self._importing, importer, found, deadline=deadline)

    def import_all(
        self,
        importers: Iterable[Importer],
        ground: Ground,
        *,
        since: float = 0.0,
        deadline: float = NO_DEADLINE,
    ) -> list[Imported]:
        """Read the new parts of all transcripts of some hosts that changed `since` a time; return
        the result for each."""
        done: list[Imported] = []
        for importer in importers:
            for found in importer.find(ground):
                if time.monotonic() >= deadline:
                    return done
                if needs_reading(self.database, found, since):
                    done.append(self.import_transcript(importer, found, deadline=deadline))
        return done

    def clean(self, text: str) -> str:
        """Return a text, cleaned for storing and showing."""
        return self._gate.clean(text)

    def forget_source(self, path: str) -> None:
        """Delete the record of a temporary file that sessions came from."""
        with self.database.writing() as db:
            forget_source(db, path)

    def count_unread(self, found: Transcript) -> int:
        """Return how many bytes of a transcript are not read yet."""
        return count_unread(self.database, found)

    def record(  # noqa: PLR0913 - what differs between those who record
        self,
        agent: str,
        records: Sequence[Record],
        *,
        now: float | None = None,
        is_new: bool = True,
        owner: str = "",
        is_from_hooks: bool = False,
        is_imported: bool = False,
    ) -> Imported:
        """Write records that are in no transcript; return the result. The first names the session;
        without `is_new`, only an existing session is written to. It belongs to `owner`, or to the
        user if empty. Records of hooks are not read from the transcript again, nor written if the
        transcript had them first. `is_imported` marks a user's import."""
        preparer = self._make_preparer()
        prepared = [preparer.prepare(record) for record in records]
        with self.database.writing() as db:
            writer = Writer(
                db,
                agent,
                now=time.time() if now is None else now,
                home=self._importing.home,
                owner=owner or self._importing.owner,
                may_begin=is_new,
                is_from_hooks=is_from_hooks,
                imported_at=time.time() if is_imported else 0.0,
            )
            writer.write(prepared)
            session_id = writer.finish()
            session_ids = frozenset(writer.session_ids)
        return Imported(session_id, writer.messages, session_ids=session_ids)

    def read_full_messages(
        self, find_importer: Callable[[str], Importer | None], session: Session
    ) -> list[Message]:
        """Read a session's messages with their texts, from the host's transcript or the user's
        imported file if they are not stored. `find_importer` finds a row by the name of an agent or
        form; without one, only stored texts are read."""
        from memory.sessions.full_text import read_full_messages  # noqa: PLC0415

        importing = self._importing._replace(
            make_preparer=lambda: Preparer(self._gate, self._parse_call, keep_messages=True)
        )
        with self.database.reading() as db:
            form = find_form(db, session.source_path)
            row = find_importer(form) if form else None
            importer = row._replace(agent=session.agent) if row else find_importer(session.agent)
            return list(read_full_messages(db, importing, importer, session))

    def save_summary(self, session_id: str, summary: Summary) -> None:
        """Store the summary of a session, cleaned like all texts."""
        from memory.sessions import maintenance  # noqa: PLC0415

        def clean(texts: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(map(self._gate.clean, texts))

        cleaned = maintenance.Summary(
            self._gate.clean(summary.summary),
            self._gate.clean(summary.details),
            clean(summary.decisions),
            clean(summary.contacts),
            clean(summary.learnings),
            clean(summary.action_items),
        )
        with self.database.writing() as db:
            maintenance.set_summary(db, session_id, cleaned)

    def build_snapshot(
        self, session_id: str, *, known: str = "", bytes_max: int = SNAPSHOT_BYTES_MAX
    ) -> str:
        """Build a session's snapshot from its events; empty if it has none. Content of the text
        `known` is left out."""
        with self.database.reading() as db:
            events = read_events(db, session_id)
            row = db.execute(
                "SELECT git_branch FROM session WHERE id = ?", (session_id,)
            ).fetchone()
        told = (session_id, row[0] if row else "", self._gate.clean(known))
        return build_snapshot(events, *told, bytes_max=bytes_max)

    def build_tail_snapshot(
        self, importer: Importer, found: Transcript, tail_bytes: int, session_id: str
    ) -> str:
        """Build a snapshot from stored events and the last bytes of a transcript whose unread part
        is too large to be imported now. Nothing is stored."""
        from memory.sessions.full_text import read_tail_events  # noqa: PLC0415

        with self.database.reading() as db:
            kept = read_events(db, session_id)
        events = read_tail_events(self._importing, importer, found, tail_bytes, session_id)
        return build_snapshot([*kept, *events], session_id)

    def save_snapshot(self, session_id: str, text: str, *, trigger: str = "") -> None:
        """Store a snapshot until it is delivered."""
        with self.database.writing() as db:
            session_news.save_snapshot(db, session_id, text, trigger=trigger, at=time.time())

    def deliver_snapshot(self, session_id: str, text: str, *, trigger: str = "") -> str:
        """Return a snapshot for the agent, replacing the waiting one; empty if one was given a
        moment ago."""
        just_now = time.time() - JUST_NOW_S
        with self.database.writing() as db:
            is_waiting = session_news.find_waiting(db, session_id) is not None
            if not is_waiting and session_news.was_delivered_since(db, session_id, just_now):
                return ""
            session_news.save_snapshot(db, session_id, text, trigger=trigger, at=time.time())
        return self.take_snapshot(session_id)

    def was_compacted(self, session_id: str) -> bool:
        """Return whether a session was compacted since its last snapshot was delivered."""
        with self.database.reading() as db:
            return session_news.was_compacted(db, session_id)

    def take_snapshot(self, session_id: str) -> str:
        """Return the waiting snapshot and mark it as delivered; empty if none waits."""
        with self.database.reading() as db:
            waiting = session_news.find_waiting(db, session_id)
        if waiting is None:
            return ""
        # Marked before it is returned: of two hooks that read it at once, only one delivers it.
        with self.database.writing() as db:
            is_ours = session_news.mark_delivered(db, waiting[0], time.time())
        return waiting[1] if is_ours else ""


def _is_empty(path: StrPath) -> bool:
    try:
        return os.stat(path).st_size == 0
    except FileNotFoundError:
        return True
    except OSError:
        return False
