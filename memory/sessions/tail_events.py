"""Events from the end of a transcript whose unread part is too large to import in time.

They are read through a store in memory, which full texts use, too.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from itertools import chain

from base.plain_files import open_plain
from memory.sessions.events import Event
from memory.sessions.importers.importer import Importer, State, Transcript
from memory.sessions.importing import Importing
from memory.sessions.line_reader import find_line_start, read_lines
from memory.sessions.preparing import Prepared
from memory.sessions.records import SessionRecord
from memory.sessions.schema import create_tables
from memory.sessions.session_news import read_events
from memory.sessions.sources import EXPECTED_ERRORS
from memory.sessions.writing import Writer


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


TAIL_HEAD_BYTES = 65_536


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
