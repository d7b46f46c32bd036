"""Reading of transcripts into a store in memory: cleaned, and not written to the session's store.

That gives the texts of a session without stored messages, matched by key, so that sequence numbers
are those of the store; and the events of a transcript's end, if its unread part is too large to
import in time.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from base.plain_files import open_plain
from memory.sessions.events import Event
from memory.sessions.importers.importer import Importer, State, Transcript
from memory.sessions.importing import Importing
from memory.sessions.line_reader import find_line_start, read_lines
from memory.sessions.model import Message, Session
from memory.sessions.preparing import Prepared, Preparer
from memory.sessions.reading import read_messages
from memory.sessions.records import Record, SessionRecord
from memory.sessions.session_news import read_events
from memory.sessions.session_rows import create_tables
from memory.sessions.sources import EXPECTED_ERRORS
from memory.sessions.writing import Writer
from memory.texts import unpack

TRANSCRIPT_BYTES_MAX = 256 << 20
"""Larger transcripts are not read: they would not fit in memory."""

TAIL_HEAD_BYTES = 65_536
"""Size of the beginning that is read with the end of a transcript."""

_Text = tuple[str | None, bool, Any]
"""The text of a message, or None; whether it is cut; and a call's arguments, or None."""


def read_full_messages(
    db: sqlite3.Connection, importing: Importing, importer: Importer | None, session: Session
) -> Iterator[Message]:
    """Yield the messages of a session in order, with their texts if readable; otherwise None, and
    marked as cut. `importing` makes preparers that keep texts."""
    stored = list(read_messages(db, session.id))
    texts: dict[tuple[int, int], _Text] = {}
    if importer is not None and any(_lacks_text(message) for message in stored):
        with suppress(OSError, *EXPECTED_ERRORS, RecursionError, sqlite3.Error):
            texts = _match(db, session.id, _read_texts(importing, importer, session))
    for message in stored:
        text = texts.get((message.sequence, message.step))
        if not _lacks_text(message):
            yield message
        elif text is None:
            yield replace(message, is_cut=True)
        else:
            content, is_cut, params = text
            yield replace(message, content=content, is_cut=is_cut, tool_params=params)


def _lacks_text(message: Message) -> bool:
    if message.role == "tool_call":
        return message.tool_params is None and message.content_bytes > 0
    return message.content is None and message.content_bytes > 0


def _match(
    db: sqlite3.Connection, session_id: str, texts: dict[bytes, _Text]
) -> dict[tuple[int, int], _Text]:
    rows = db.execute(
        "SELECT sequence, step, source_key FROM message WHERE session_id = ?", (session_id,)
    )
    return {(sequence, step): texts[key] for sequence, step, key in rows if key in texts}


def _read_texts(importing: Importing, importer: Importer, session: Session) -> dict[bytes, _Text]:
    """Read the texts of a transcript by the keys of their messages."""
    preparer = importing.make_preparer()
    prepared = map(preparer.prepare, _read_records(importer, session, preparer))
    of_it = prepared if importer.read_file is None else _only(session, prepared)
    with write_in_memory(importing, importer, of_it) as db:
        rows = db.execute(
            "SELECT source_key, content, is_cut OR (role = 'tool_call' AND tool_params IS NULL AND"
            " content_bytes > 0), tool_params FROM message"
        ).fetchall()
    return {
        key: (unpack(content), bool(is_cut), json.loads(unpack(params) or "null"))
        for key, content, is_cut, params in rows
    }


def _only(session: Session, prepared: Iterable[Prepared]) -> Iterator[Prepared]:
    """Yield the records of one session from a file that may have thousands."""
    is_its = True
    for one in prepared:
        if isinstance(one.record, SessionRecord):
            is_its = one.record.id == session.host_id
        if is_its:
            yield one


def _read_records(importer: Importer, session: Session, preparer: Preparer) -> Iterator[Record]:
    path, state = Path(session.source_path), State()
    if importer.read_sessions is not None:

        def is_wanted(record: SessionRecord) -> bool:
            cleaned = preparer.prepare(record).record
            return isinstance(cleaned, SessionRecord) and cleaned.id == session.host_id

        read = importer.read_sessions(str(path), state, is_wanted)
        yield from (record for record in read if record is not None)
        return
    if importer.read_file is not None:
        if path.stat().st_size <= TRANSCRIPT_BYTES_MAX:
            yield from importer.read_file(str(path), state)
        return
    assert importer.parse_line is not None
    with open_plain(path, follow=False) as file:
        size = os.fstat(file.fileno()).st_size
        if size > TRANSCRIPT_BYTES_MAX:
            return
        yield SessionRecord(session.host_id)
        for _, _, data in read_lines(file, 0, size, is_complete=True):
            with suppress(*EXPECTED_ERRORS, RecursionError):
                yield from list(importer.parse_line(json.loads(data or b""), state))


@contextmanager
def write_in_memory(
    importing: Importing, importer: Importer, prepared: Iterable[Prepared]
) -> Iterator[sqlite3.Connection]:
    """Write a host's records into tables that exist only within the block."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
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
        yield db


def read_tail_events(
    importing: Importing, importer: Importer, found: Transcript, tail_bytes: int, session_id: str
) -> list[Event]:
    """Read the events of a transcript's last bytes, through a store in memory. Its beginning is
    parsed, too, since some hosts name the session only there."""
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
        for _, _, data in lines:
            with suppress(*EXPECTED_ERRORS, RecursionError):
                value = json.loads(data or b"")
                prepared += map(preparer.prepare, importer.parse_line(value, state))
    with write_in_memory(importing, importer, prepared) as db:
        return read_events(db, session_id)
