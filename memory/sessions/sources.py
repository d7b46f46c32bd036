"""The rows of transcripts: which file each is, how far it is read, and whether anything is new."""

from __future__ import annotations

import json
import os
import sqlite3
from typing import NamedTuple

from memory.sessions.database import Database
from memory.sessions.importers.importer import Found, State
from memory.sessions.preparing import digest
from memory.sessions.tail import Place

DRIFT_BYTES = 1 << 20
"""Of a file of which so much was read and no message found, the form is another than is known."""

DRIFT = "no message was found in it: this version of the host may write another form"


class Source(NamedTuple):
    """A row of the table of sources."""

    id: int
    place: Place
    size: int
    mtime_ns: int
    messages: int
    elsewhere: bool
    state: State


def load_source(db: sqlite3.Connection, path: str) -> Source | None:
    row = db.execute(
        "SELECT id, device, inode, head_bytes, head_sha256, offset, size, mtime_ns, messages,"
        " elsewhere, state FROM source WHERE path_key = ?",
        (digest(path),),
    ).fetchone()
    if row is None:
        return None
    id_, *place, size, mtime_ns, messages, elsewhere, state = row
    return Source(id_, Place(*place), size, mtime_ns, messages, bool(elsewhere), json.loads(state))


NAMED = "file:"
"""Before the form of a source that a person named, so that none takes it for a host's own."""


def find_form(db: sqlite3.Connection, path: str) -> str:
    """Return the form of a file that a person named; empty of a host's own transcript."""
    row = db.execute("SELECT agent FROM source WHERE path_key = ?", (digest(path),)).fetchone()
    return row[0].removeprefix(NAMED) if row and row[0].startswith(NAMED) else ""


def needs_reading(database: Database, found: Found) -> bool:
    """Tell by a file's status alone whether there may be something new in it."""
    try:
        status = os.stat(found.path, follow_symlinks=False)
    except OSError:
        return False
    with database.reading() as db:
        source = load_source(db, found.path)
    if source is None:
        return True
    place = source.place
    if (place.device, place.inode) != (status.st_dev, status.st_ino):
        return True
    if source.elsewhere and status.st_size >= source.size:
        return False
    if place.offset < source.size:
        return True  # a deadline came before its end, or its last line is not complete
    return (source.size, source.mtime_ns) != (status.st_size, status.st_mtime_ns)


def count_unread(database: Database, found: Found) -> int:
    """Return how many bytes of a transcript are not read yet; 0 where it is gone."""
    try:
        size = os.stat(found.path, follow_symlinks=False).st_size
    except OSError:
        return 0
    with database.reading() as db:
        source = load_source(db, found.path)
    return max(size - (source.place.offset if source else 0), 0)


def forget_source(db: sqlite3.Connection, path: str) -> None:
    """Forget a file, and that sessions came from it."""
    db.execute("DELETE FROM source WHERE path_key = ?", (digest(path),))
    db.execute("UPDATE session SET source_path = '' WHERE source_path = ?", (path,))


def note_drift(db: sqlite3.Connection, source_id: int, offset: int) -> str:
    row = db.execute("SELECT messages, elsewhere FROM source WHERE id = ?", (source_id,)).fetchone()
    problem = DRIFT if offset >= DRIFT_BYTES and not row[0] and not row[1] else ""
    db.execute("UPDATE source SET problem = ? WHERE id = ?", (problem, source_id))
    return problem
