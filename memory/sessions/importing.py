"""Import of transcripts: new records are stored, in short transactions.

The first process to come reads a source; after a kill, reading restarts at the last transaction.
Lines that are not JSON are noted and skipped.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from typing import BinaryIO

from base.named_tuples import NamedTuple
from base.plain_files import open_plain
from base.stores import Database
from memory.gate import Gate
from memory.sessions.importers.importer import Importer, State, Transcript
from memory.sessions.importers.whole_json import RefusedError
from memory.sessions.line_reader import (
    FilePlace,
    HeldError,
    Line,
    find_place,
    open_transcript,
    read_lines,
)
from memory.sessions.preparing import Prepared, Preparer
from memory.sessions.records import CompactionRecord, MessageRecord, Record, SessionRecord
from memory.sessions.sources import (
    EXPECTED_ERRORS,
    EXPIRED,
    NAMED,
    UNDECIDED,
    Source,
    find_folder,
    load_source,
    measure,
    name_session,
    note_bad_lines,
    note_drift,
    save_source,
)
from memory.sessions.writing import Writer

BATCH_BYTES = 8 << 20
BATCH_S = 0.1
"""Time for preparing a transaction; writing it, for which others wait, takes a third of that."""
BAD = "bad"
"""Key in the state of a reader of whole files: its number of unreadable parts."""


class Importing(NamedTuple):
    """The common data of all imports of one store. Without `belongs`, all sessions are imported."""

    database: Database
    gate: Gate
    make_preparer: Callable[[], Preparer]
    belongs: Callable[[str], bool] | None = None  # whether a working directory is the project's
    home: str = ""
    owner: str = ""  # owner that the sessions are recorded under


class Imported(NamedTuple):
    """The outcome of one reading."""

    session_id: str = ""
    messages: int = 0
    bytes_read: int = 0
    behind: int = 0  # bytes left to read
    bad_lines: int = 0
    is_held: bool = False  # whether another process reads the source
    elsewhere: bool = False
    summary: str = ""  # that of the last compaction, if it was read
    problem: str = ""
    session_ids: frozenset[str] = frozenset()


def import_source(
    importing: Importing, importer: Importer, found: Transcript, *, deadline: float = float("inf")
) -> Imported:
    """Read the new part of a transcript until all is read, or the clock passes `deadline` (in
    `time.monotonic`). A transcript that cannot be opened, or is of another project, is noted and
    yields nothing. From a database of many sessions, only those of the project are read.

    Raises:
        MemoryRoomError: the store cannot be written.
    """
    try:
        # The host must not find its database locked; in one transaction, its rows stay the same.
        is_database = importer.read_sessions is not None
        opening = open_plain(found.path, follow=False) if is_database else None
        with opening or open_transcript(found.path) as file:
            return _Reading(importing, importer, found, file).run(deadline)
    except HeldError:
        return Imported(is_held=True)
    except OSError as error:
        return Imported(problem=error.strerror or "cannot open it")


class _Reading:
    """One reading of one open transcript."""

    def __init__(
        self, importing: Importing, importer: Importer, found: Transcript, file: BinaryIO
    ) -> None:
        self._importing = importing
        self._importer = importer
        self._found = found
        self._file = file
        # One time for a whole file, so that of one import the oldest sessions are deleted first.
        self._imported_at = time.time() if found.form else 0.0
        self._preparer = importing.make_preparer()
        self._status = measure(found, os.fstat(file.fileno()))
        with importing.database.reading() as db:
            # A file named by the user is read from its beginning: the user wants all of it.
            known = None if found.form else load_source(db, found.path)
        if known and EXPIRED in known.state:
            known = None  # nothing is left of the part read before
        self._known = known or Source(0, FilePlace(), 0, 0, 0, 0, {})
        self._summary = ""
        self._session = ""  # of the records read, in a database of many
        self._problem = ""
        self._elsewhere = False
        self._folder = ""
        self._judged: set[str] = set()
        self._bad: list[tuple[Line, str]] = []

    def run(self, deadline: float) -> Imported:
        """Read to the end, one transaction per batch."""
        if self._importer.read_sessions is not None:
            return self._read_database(deadline)
        place = find_place(self._file, self._known.place)
        is_new = place.offset == 0
        state = {} if is_new else self._known.state
        if self._known.elsewhere and not is_new:
            return Imported(elsewhere=True)
        if is_new:
            folder = find_folder(self._importing.database, self._importer, self._found, self._file)
            if folder is None and self._importing.belongs is not None:
                return self._put_off(place)
            self._folder = folder or ""
        if self._importer.read_file is not None:
            return self._read_whole(place, state)
        total = Imported()
        while True:
            part, offset, state = self._read_batch(place.offset, state, deadline)
            at = place._replace(offset=offset)
            done = self._store(part, at, state, is_new=is_new, goes_on=not is_new)
            total = done._replace(
                session_ids=total.session_ids | done.session_ids,
                messages=total.messages + done.messages,
                bytes_read=total.bytes_read + offset - place.offset,
                bad_lines=total.bad_lines + done.bad_lines,
            )
            is_at_end = offset == place.offset or offset >= self._status.size
            place, is_new = at, False
            if is_at_end or self._elsewhere or time.monotonic() >= deadline:
                behind = max(self._status.size - offset, 0)
                return total._replace(behind=behind, summary=self._summary)

    def _read_batch(
        self, offset: int, state: State, deadline: float
    ) -> tuple[list[Prepared], int, State]:
        """Parse and prepare some lines, before any transaction."""
        parse_line = self._importer.parse_line
        assert parse_line is not None
        # A copy: if the transaction fails, the next reading begins with the state before it.
        state = dict(state)
        self._bad = []
        prepared: list[Prepared] = []
        if offset == 0 and self._found.session_id:
            prepared += self._prepare([name_session(self._found, self._folder)])
        limit = min(offset + BATCH_BYTES, self._status.size)
        ends_at = min(time.monotonic() + BATCH_S, deadline)
        is_complete = bool(self._found.form)
        for line in read_lines(self._file, offset, limit, is_complete=is_complete):
            _, offset, _ = line
            try:
                prepared.extend(self._prepare(self._parse(parse_line, line, state)))
            except (*EXPECTED_ERRORS, RecursionError) as error:
                self._bad.append((line, f"unknown format ({type(error).__name__})"))
            if self._elsewhere or time.monotonic() >= ends_at:
                break
        return prepared, offset, state

    def _parse(
        self, parse_line: Callable[..., Iterator[Record]], line: Line, state: State
    ) -> Iterator[Record]:
        """Yield a line's records, up to the first unknown one."""
        _, _, data = line
        if data is None:
            self._bad.append((line, "the line is too long"))
        elif data.strip():
            try:
                value = json.loads(data)
            except (ValueError, RecursionError):
                self._bad.append((line, "invalid JSON"))
                return
            if isinstance(value, dict):
                yield from parse_line(value, state)

    def _prepare(self, records: Iterable[Record]) -> Iterator[Prepared]:
        for record in records:
            if isinstance(record, SessionRecord) and self._is_foreign(record):
                self._elsewhere = True
                return
            if isinstance(record, SessionRecord):
                self._session = record.id
            if isinstance(record, CompactionRecord) and record.summary:
                self._note_summary(record.summary)
            yield self._preparer.prepare(record)

    def _note_summary(self, summary: str) -> None:
        is_asked_for = self._found.session_id in ("", self._session)
        if self._importer.read_sessions is None or is_asked_for:
            self._summary = summary

    def _put_off(self, place: FilePlace) -> Imported:
        """Note that the owner of the transcript cannot be known yet."""
        with self._importing.database.writing() as db:
            self._save(db, place._replace(offset=0), {}, UNDECIDED)
        return Imported(elsewhere=True)

    def _is_foreign(self, record: SessionRecord) -> bool:
        """Return whether a session is of another project, by the folder in which it began."""
        belongs, folder = self._importing.belongs, record.working_directory
        if belongs is None or self._found.folder or self._found.form or not folder:
            return False
        cleaned = self._preparer.prepare(record).record
        assert isinstance(cleaned, SessionRecord)
        own, parent = (f"{self._importer.agent}:{one}" for one in (cleaned.id, cleaned.parent_id))
        if own in self._judged or parent in self._judged:
            self._judged.add(own)  # its own subagents are of the project, too
            return False
        with self._importing.database.reading() as db:
            known = db.execute(
                "SELECT 1 FROM session WHERE (id = ? AND working_directory <> '') OR id = ?",
                (own, parent),
            ).fetchone()
        try:
            is_own = known is not None or (os.path.isabs(folder) and belongs(folder))
        except (ValueError, OSError):  # a path cannot have a NUL
            is_own = False
        if is_own:
            self._judged.add(own)
        return not is_own

    def _read_database(self, deadline: float) -> Imported:
        """Read the new part of a database of many sessions. It is identified by its inode: its
        beginning changes with each checkpoint."""
        read_sessions, status = self._importer.read_sessions, self._status
        assert read_sessions is not None
        known = self._known.place
        is_new = (known.device, known.inode) != (status.device, status.inode)
        state = {} if is_new else dict(self._known.state)
        only = self._found.session_id
        with closing(read_sessions(self._found.path, state, self._is_wanted, only)) as records:
            place = FilePlace(status.device, status.inode)
            return self._read_records(records, place, state, deadline, is_new=is_new)

    def _is_wanted(self, record: SessionRecord) -> bool:
        if self._importing.belongs is None:
            return True
        return bool(record.working_directory) and not self._is_foreign(record)

    def _read_whole(self, place: FilePlace, state: State) -> Imported:
        """Read a file that is not a list of lines."""
        read_file = self._importer.read_file
        assert read_file is not None
        state = dict(state)
        records = read_file(self._found.path, state)
        return self._read_records(records, place, state, float("inf"), is_new=True)

    def _read_records(
        self,
        records: Iterator[Record | None],
        place: FilePlace,
        state: State,
        deadline: float,
        *,
        is_new: bool,
    ) -> Imported:
        """Store records in batches until they end, fail, or the clock passes the deadline."""
        is_database = self._importer.read_sessions is not None
        messages, is_first, session_ids = 0, True, frozenset[str]()
        while True:
            batch, is_over = self._take(records)
            is_read = is_over and not (is_database and (self._problem or self._found.session_id))
            place = place._replace(offset=self._status.size if is_read else 0)
            done = self._store(batch, place, state, is_new=is_new, goes_on=not is_first)
            messages, is_first, is_new = messages + done.messages, False, False
            session_ids |= done.session_ids
            if is_over or time.monotonic() >= deadline:
                return done._replace(
                    messages=messages,
                    behind=0 if is_over else max(self._status.size, 1),
                    bad_lines=int(state.get(BAD, 0)),
                    problem=self._problem,
                    summary=self._summary,
                    session_ids=session_ids,
                )

    def _take(self, records: Iterator[Record | None]) -> tuple[list[Prepared], bool]:
        """Take the records of one batch; return whether they were the last."""
        batch: list[Prepared] = []
        ends_at = time.monotonic() + BATCH_S
        try:
            for record in records:
                if record is not None:
                    with suppress(*EXPECTED_ERRORS, RecursionError):
                        batch += self._prepare([record])
                # The position is that of the database's reader, so that the next one continues
                # there.
                may_stop = record is None or self._importer.read_sessions is None
                if self._elsewhere or (may_stop and time.monotonic() >= ends_at):
                    return batch, self._elsewhere
        except RefusedError as error:
            self._problem = str(error)
        except (*EXPECTED_ERRORS, RecursionError, OSError, sqlite3.Error) as error:
            self._problem = _name_problem(error)
        return batch, True

    def _store(
        self,
        prepared: list[Prepared],
        place: FilePlace,
        state: State,
        *,
        is_new: bool,
        goes_on: bool,
    ) -> Imported:
        """Write a batch. A continued one belongs to the last session of the previous batch."""
        importing, found = self._importing, self._found
        # The position in the source is saved in the transaction that writes its records. If it were
        # saved before, a kill between the two would lose them permanently.
        with importing.database.writing() as db:
            if self._elsewhere:
                prepared = []
            writer = Writer(
                db,
                self._importer.agent,
                now=self._status.mtime_ns / 1e9,
                home=importing.home,
                owner=importing.owner,
                source_path=importing.gate.clean_head(found.path, 4096),
                keys_are_global=self._importer.keys_are_global,
                imported_at=self._imported_at,
            )
            # Before any record: those of a continued batch name no session, and would be skipped.
            if goes_on:
                writer.resume(str(state.get("session", "")))
            writer.write(prepared)
            state["session"] = writer.finish()
            seen = sum(isinstance(one.record, MessageRecord) for one in prepared)
            source_id = self._save(db, place, state, int(self._elsewhere))
            # Notes on an earlier file at this path are deleted before those on this one are added.
            if is_new and self._importer.parse_line is not None:
                db.execute("DELETE FROM import_error WHERE source_id = ?", (source_id,))
            note_bad_lines(db, source_id, self._bad, importing.gate)
            db.execute(
                "UPDATE source SET messages = IIF(?, 0, messages) + ?, bad_lines ="
                " (SELECT COUNT(*) FROM import_error WHERE source_id = source.id) WHERE id = ?",
                (is_new, seen, source_id),
            )
            if self._importer.read_sessions is None:
                problem = note_drift(db, source_id, place.offset)
            else:
                problem = self._problem
                db.execute("UPDATE source SET problem = ? WHERE id = ?", (problem, source_id))
        return Imported(
            str(state["session"]),
            writer.messages,
            bad_lines=len(self._bad),
            elsewhere=self._elsewhere,
            problem=problem,
            session_ids=frozenset(writer.session_ids),
        )

    def _save(self, db: sqlite3.Connection, place: FilePlace, state: State, elsewhere: int) -> int:
        form = self._found.form
        agent = NAMED + form if form else self._importer.agent
        of = (agent, self._found.path, self._importing.gate)
        return save_source(db, *of, self._status, place, state, elsewhere)


def _name_problem(error: Exception) -> str:
    if isinstance(error, sqlite3.OperationalError):
        return "locked by its host, or unreadable"
    return f"unknown format ({type(error).__name__})"
