"""Where a session worked, of hosts whose transcripts do not say."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import BinaryIO

from base.plain_files import open_plain
from memory.database import Database
from memory.sessions.importers.importer import Found, Importer, State
from memory.sessions.records import SessionRecord
from memory.sessions.tail import read_lines

HEAD_BYTES = 1 << 20
"""How far a transcript is read for the place of its session."""

EXPECTED_ERRORS = (ValueError, KeyError, TypeError, AttributeError, IndexError)


def find_folder(database: Database, importer: Importer, found: Found, file: BinaryIO) -> str | None:
    """Find the working directory of a transcript's session. Empty: its records say, or hooks told
    it. None: it cannot be known."""
    if importer.find_folder is None:
        return ""
    ids = [f"{importer.agent}:{one}" for one in (found.session_id, found.parent_id)]
    with database.reading() as db:
        known = db.execute(
            "SELECT 1 FROM session WHERE id IN (?, ?) AND working_directory <> ''", ids
        ).fetchone()
    return "" if known else importer.find_folder(found, file) or None


def read_folder(importer: Importer, found: Found) -> str:
    """Read where a transcript's session worked: by its place, or by its first records; empty where
    that cannot be known."""
    if found.folder or importer.parse_line is None:
        return found.folder
    with suppress(OSError), open_plain(found.path, follow=False) as file:
        if importer.find_folder is not None:
            return importer.find_folder(found, file)
        state = State()
        for line in read_lines(file, 0, HEAD_BYTES):
            with suppress(*EXPECTED_ERRORS, RecursionError):
                value = json.loads(line.data or b"")
                for record in importer.parse_line(value, state) if isinstance(value, dict) else ():
                    if isinstance(record, SessionRecord) and record.working_directory:
                        return record.working_directory
    return ""


def name_session(found: Found, folder: str) -> SessionRecord:
    """Return the record of the session that a transcript's place names."""
    return SessionRecord(
        found.session_id,
        found.parent_id,
        "subagent" if found.parent_id else "",
        working_directory=folder,
    )
