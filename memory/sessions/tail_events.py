"""What the end of a transcript tells, of which too much is unread to be imported in time."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from itertools import chain

from base.plain_files import open_plain
from memory.sessions.event_reading import read_events
from memory.sessions.events import Event
from memory.sessions.importers.importer import Found, Importer, State
from memory.sessions.importing import Importing
from memory.sessions.memory_store import write_in_memory
from memory.sessions.preparing import Prepared
from memory.sessions.records import SessionRecord
from memory.sessions.tail import find_line_start, read_lines
from memory.sessions.whereabouts import EXPECTED_ERRORS

TAIL_HEAD_BYTES = 65_536


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
    with write_in_memory(importing, importer, prepared) as db:
        return read_events(db, session_id)
