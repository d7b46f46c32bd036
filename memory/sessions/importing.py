"""Importing transcripts: what is new in one goes into the store, in short transactions.

Whoever comes first reads a source; killed, it is begun again where the last transaction ended.
What is no line of JSON is noted, and reading goes on.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import Any, BinaryIO, NamedTuple

from base.plain_files import open_plain
from memory.sessions.database import Database
from memory.sessions.events import Event
from memory.sessions.gate import CONTEXT_CHARS, Gate
from memory.sessions.importers.importer import Found, Importer, State
from memory.sessions.importers.whole_json import RefusedError
from memory.sessions.preparing import Prepared, Preparer, digest
from memory.sessions.reading import read_events
from memory.sessions.records import CompactionRecord, MessageRecord, Record, SessionRecord
from memory.sessions.schema import create_tables
from memory.sessions.sources import NAMED, Source, load_source, note_drift
from memory.sessions.tail import (
    HeldError,
    Line,
    Place,
    find_line_start,
    find_place,
    open_transcript,
    read_lines,
)
from memory.sessions.writing import Writer

BATCH_BYTES = 8 << 20
BATCH_S = 0.25
TAIL_HEAD_BYTES = 65_536
EXCERPT_BYTES = 120
_ESCAPED = re.compile(r"\\u([0-9A-Fa-f]{4})")
BAD = "bad"
"""Where in its state a reader of whole files counts the parts that it could not read."""
EXPECTED_ERRORS = (ValueError, KeyError, TypeError, AttributeError, IndexError)


class Importing(NamedTuple):
    """What all importing of one store has in common. `belongs` tells whether a working directory is
    of the store's project; None takes all. `owner` is who the sessions are said to be of."""

    database: Database
    gate: Gate
    make_preparer: Callable[[], Preparer]
    belongs: Callable[[str], bool] | None = None
    home: str = ""
    owner: str = ""


class Imported(NamedTuple):
    """What became of one reading. `behind` is how many bytes are left to read; `is_held` says that
    another process reads the source; `summary` is the last compaction's, as far as it was read."""

    session_id: str = ""
    messages: int = 0
    bytes_read: int = 0
    behind: int = 0
    bad_lines: int = 0
    is_held: bool = False
    elsewhere: bool = False
    summary: str = ""
    problem: str = ""
    session_ids: frozenset[str] = frozenset()


def import_source(
    importing: Importing, importer: Importer, found: Found, *, deadline: float = float("inf")
) -> Imported:
    """Read what is new in a transcript until all is read, or the clock passes `deadline` (as
    `time.monotonic` counts).

    A transcript that cannot be opened, or is of another project, is noted and yields nothing.

    Raises:
        SessionsError: the store cannot be written.
    """
    try:
        with open_transcript(found.path) as file:
            return _Reading(importing, importer, found, file).run(deadline)
    except HeldError:
        return Imported(is_held=True)
    except OSError as error:
        return Imported(problem=error.strerror or "it cannot be opened")


def read_tail_events(
    importing: Importing, importer: Importer, found: Found, tail_bytes: int, session_id: str
) -> list[Event]:
    """Read the events of a transcript's last bytes, by way of a store in memory. Its beginning is
    parsed, too, since some hosts say only there whose it is."""
    preparer, state = importing.make_preparer(), State()
    prepared: list[Prepared] = []
    if importer.parse_line is None:
        return []
    with open_plain(found.path, follow=False) as file:
        size = os.fstat(file.fileno()).st_size
        head = min(TAIL_HEAD_BYTES, max(size - tail_bytes, 0))
        lines = chain(
            read_lines(file, 0, head) if head else (),
            read_lines(file, find_line_start(file, max(size - tail_bytes, 0)), size),
        )
        if found.session_id:
            prepared.append(preparer.prepare(SessionRecord(found.session_id)))
        for line in lines:
            with suppress(*EXPECTED_ERRORS, RecursionError):
                value = json.loads(line.data or b"")
                prepared += map(preparer.prepare, importer.parse_line(value, state))
    db = sqlite3.connect(":memory:", isolation_level=None)
    try:
        create_tables(db)
        writer = Writer(
            db,
            importer.agent,
            now=0.0,
            home=importing.home,
            keys_are_global=importer.keys_are_global,
        )
        writer.write(prepared)
        writer.finish()
        return read_events(db, session_id)
    finally:
        db.close()


class _Reading:
    """One reading of one open transcript."""

    def __init__(
        self, importing: Importing, importer: Importer, found: Found, file: BinaryIO
    ) -> None:
        self._importing = importing
        self._importer = importer
        self._found = found
        self._file = file
        self._preparer = importing.make_preparer()
        self._status = os.fstat(file.fileno())
        with importing.database.reading() as db:
            # What a person names is read from its beginning: they ask for all of it.
            known = None if found.form else load_source(db, found.path)
        self._known = known or Source(0, Place(), 0, 0, 0, False, {})
        self._summary = ""
        self._elsewhere = False
        self._judged: set[str] = set()
        self._bad: list[tuple[Line, str]] = []

    def run(self, deadline: float) -> Imported:
        """Read to the end, a batch a transaction."""
        place = find_place(self._file, self._known.place)
        is_new = place.offset == 0
        state = {} if is_new else self._known.state
        if self._known.elsewhere and not is_new:
            return Imported(elsewhere=True)
        if self._importer.read_file is not None:
            return self._read_whole(place, state)
        total = Imported()
        while True:
            part, offset, state = self._read_batch(place.offset, state)
            done = self._store(part, place._replace(offset=offset), state, is_new=is_new)
            total = done._replace(
                session_ids=total.session_ids | done.session_ids,
                messages=total.messages + done.messages,
                bytes_read=total.bytes_read + offset - place.offset,
                bad_lines=total.bad_lines + done.bad_lines,
            )
            is_at_end = offset == place.offset or offset >= self._status.st_size
            place, is_new = place._replace(offset=offset), False
            if is_at_end or self._elsewhere or time.monotonic() >= deadline:
                behind = max(self._status.st_size - offset, 0)
                return total._replace(behind=behind, summary=self._summary)

    def _read_batch(self, offset: int, state: State) -> tuple[list[Prepared], int, State]:
        """Parse and prepare some lines, before any transaction."""
        parse_line = self._importer.parse_line
        assert parse_line is not None
        state = dict(state)
        self._bad = []
        prepared: list[Prepared] = []
        if offset == 0 and self._found.session_id:
            prepared += self._prepare([SessionRecord(self._found.session_id)])
        limit = min(offset + BATCH_BYTES, self._status.st_size)
        ends_at = time.monotonic() + BATCH_S
        is_complete = bool(self._found.form)
        for line in read_lines(self._file, offset, limit, is_complete=is_complete):
            offset = line.end
            try:
                prepared.extend(self._prepare(self._parse(parse_line, line, state)))
            except (*EXPECTED_ERRORS, RecursionError) as error:
                self._bad.append((line, f"its form is unknown ({type(error).__name__})"))
            if self._elsewhere or time.monotonic() >= ends_at:
                break
        return prepared, offset, state

    def _parse(
        self, parse_line: Callable[..., Iterator[Record]], line: Line, state: State
    ) -> Iterator[Record]:
        """Yield a line's records, up to what is unknown in it."""
        if line.data is None:
            self._bad.append((line, "it is too long"))
        elif line.data.strip():
            try:
                value = json.loads(line.data)
            except (ValueError, RecursionError):
                self._bad.append((line, "it is no JSON"))
                return
            if isinstance(value, dict):
                yield from parse_line(value, state)

    def _prepare(self, records: Iterable[Record]) -> Iterator[Prepared]:
        for record in records:
            if isinstance(record, SessionRecord) and self._is_foreign(record):
                self._elsewhere = True
                return
            if isinstance(record, CompactionRecord) and record.summary:
                self._summary = record.summary
            yield self._preparer.prepare(record)

    def _is_foreign(self, record: SessionRecord) -> bool:
        """Tell whether a session is of another project: by the folder that it began in."""
        belongs, folder = self._importing.belongs, record.working_directory
        if belongs is None or self._found.folder or self._found.form or not folder:
            return False
        cleaned = self._preparer.prepare(record).record
        assert isinstance(cleaned, SessionRecord)
        own, parent = (f"{self._importer.agent}:{one}" for one in (cleaned.id, cleaned.parent_id))
        if own in self._judged or parent in self._judged:
            return False
        self._judged.add(own)
        with self._importing.database.reading() as db:
            known = db.execute(
                "SELECT 1 FROM session WHERE (id = ? AND working_directory <> '') OR id = ?",
                (own, parent),
            ).fetchone()
        if known is not None:
            return False
        try:
            return not (os.path.isabs(folder) and belongs(folder))
        except (ValueError, OSError):  # no path can have a NUL
            return True

    def _read_whole(self, place: Place, state: State) -> Imported:
        """Read a file that is no list of lines, in batches of its records."""
        read_file = self._importer.read_file
        assert read_file is not None
        state, batch, messages, problem = dict(state), list[Prepared](), 0, ""
        done, session_ids, is_new = Imported(), frozenset[str](), True
        records = read_file(self._found.path, state)
        while True:
            ends_at = time.monotonic() + BATCH_S
            batch.clear()
            is_over = True
            try:
                for record in records:
                    batch += self._prepare([record])
                    if self._elsewhere or time.monotonic() >= ends_at:
                        is_over = self._elsewhere
                        break
            except RefusedError as error:
                problem = str(error)
            except (*EXPECTED_ERRORS, RecursionError, OSError, sqlite3.Error) as error:
                problem = f"its form is unknown ({type(error).__name__})"
            size = self._status.st_size if is_over else 0
            done = self._store(batch, place._replace(offset=size), state, is_new=is_new)
            messages += done.messages
            session_ids |= done.session_ids
            is_new = False
            if is_over:
                break
        return done._replace(
            messages=messages,
            bad_lines=int(state.get(BAD, 0)),
            problem=problem,
            summary=self._summary,
            session_ids=session_ids,
        )

    def _store(
        self, prepared: list[Prepared], place: Place, state: State, *, is_new: bool
    ) -> Imported:
        importing, found = self._importing, self._found
        clean = importing.gate.clean_head
        now = time.time()
        with importing.database.writing() as db:
            if self._elsewhere:
                prepared = []
            writer = Writer(
                db,
                self._importer.agent,
                now=self._status.st_mtime,
                home=importing.home,
                owner=importing.owner,
                source_path=clean(found.path, 4096),
                keys_are_global=self._importer.keys_are_global,
                imported_at=now if found.form else 0.0,
            )
            if not is_new:
                writer.resume(str(state.get("session", "")))
            writer.write(prepared)
            state["session"] = writer.finish()
            seen = sum(isinstance(one.record, MessageRecord) for one in prepared)
            source_id = self._save(db, place, state, now)
            if is_new and self._importer.parse_line is not None:
                db.execute("DELETE FROM import_error WHERE source_id = ?", (source_id,))
            for line, reason in self._bad:
                excerpt = _read_excerpt(line.data or b"")
                db.execute(
                    "INSERT OR REPLACE INTO import_error VALUES (?, ?, ?, ?, ?)",
                    (
                        source_id,
                        line.start,
                        line.end - line.start,
                        reason,
                        clean(excerpt, EXCERPT_BYTES),
                    ),
                )
            db.execute(
                "UPDATE source SET messages = IIF(?, 0, messages) + ?, bad_lines ="
                " (SELECT COUNT(*) FROM import_error WHERE source_id = source.id) WHERE id = ?",
                (is_new, seen, source_id),
            )
            problem = note_drift(db, source_id, place.offset)
        return Imported(
            str(state["session"]),
            writer.messages,
            bad_lines=len(self._bad),
            elsewhere=self._elsewhere,
            problem=problem,
            session_ids=frozenset(writer.session_ids),
        )

    def _clean_state(self, value: Any) -> Any:  # noqa: ANN401 - JSON
        """Return what a parser keeps for later as it may be stored: of a text that the gate would
        change its digest, as of a session's id, so that it is known again."""
        if isinstance(value, str):
            is_clean = self._importing.gate.clean(value) == value
            return value if is_clean else digest(value).hex()
        if isinstance(value, dict):
            return {key: self._clean_state(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self._clean_state(item) for item in value]
        return value

    def _save(self, db: sqlite3.Connection, place: Place, state: State, now: float) -> int:
        """Note how far the source is read; return the number of its row."""
        row = db.execute(
            "INSERT INTO source (path_key, agent, path, device, inode, head_bytes, head_sha256,"
            " size, mtime_ns, offset, elsewhere, state, seen_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (path_key) DO UPDATE SET agent = IIF(excluded.agent LIKE 'file:%' AND"
            " agent NOT LIKE 'file:%', agent, excluded.agent), device = excluded.device,"
            " inode = excluded.inode, head_bytes = excluded.head_bytes,"
            " head_sha256 = excluded.head_sha256,"
            " size = excluded.size, mtime_ns = excluded.mtime_ns, offset = excluded.offset,"
            " elsewhere = excluded.elsewhere, state = excluded.state, seen_at = excluded.seen_at"
            " RETURNING id",
            (
                digest(self._found.path),
                NAMED + self._found.form if self._found.form else self._importer.agent,
                self._importing.gate.clean_head(self._found.path, 4096),
                place.device,
                place.inode,
                place.head_bytes,
                place.head_sha256,
                self._status.st_size,
                self._status.st_mtime_ns,
                place.offset,
                self._elsewhere,
                json.dumps(self._clean_state(state)),
                now,
            ),
        ).fetchone()
        return int(row[0])


def _read_excerpt(data: bytes) -> str:
    """Return the beginning of a line that is no JSON, with as much more as the gate looks at, and
    with what is escaped in it as it is meant."""
    text = data[: EXCERPT_BYTES + CONTEXT_CHARS].decode(errors="replace")
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)
