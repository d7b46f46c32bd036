"""Where a session worked, of hosts whose transcripts do not say."""

from __future__ import annotations

from typing import BinaryIO

from memory.sessions.database import Database
from memory.sessions.importers.importer import Found, Importer
from memory.sessions.records import SessionRecord


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


def name_session(found: Found, folder: str) -> SessionRecord:
    """Return the record of the session that a transcript's place names."""
    return SessionRecord(
        found.session_id,
        found.parent_id,
        "subagent" if found.parent_id else "",
        working_directory=folder,
    )
