"""The rows of transcripts: identity of the file, reading position, and whether there is news.

Also the folder of a session, for hosts whose transcripts do not name it.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, BinaryIO

from base.named_tuples import NamedTuple
from base.plain_files import open_plain
from base.stores import Database
from memory.gate import CONTEXT_CHARS, Gate
from memory.sessions.importers.importer import Importer, State, Transcript
from memory.sessions.line_reader import FilePlace, Line, read_lines
from memory.sessions.preparing import key_of
from memory.sessions.records import SessionRecord

HEAD_BYTES = 1 << 20
"""Bytes of a transcript that are searched for the folder of its session."""

EXPECTED_ERRORS = (ValueError, KeyError, TypeError, AttributeError, IndexError)

DRIFT_BYTES = 1 << 20
"""Bytes read without a message that show an unknown format."""

ELSEWHERE, UNDECIDED = 1, 2
"""States of a transcript: of another project, or of a project still unknown, which is decided again
when it has grown."""

EXPIRED = "expired"
"""The mark of a transcript whose session expired: its last activity."""

EXCERPT_BYTES = 120
_ESCAPED = re.compile(r"\\u([0-9A-Fa-f]{4})")

DRIFT = "no messages found: this version of the host may use another format"

NAMED = "file:"
"""Prefix of the form of a source that the user named, to distinguish it from a host's own."""


def find_folder(
    database: Database, importer: Importer, found: Transcript, file: BinaryIO
) -> str | None:
    """Find the working directory of a transcript's session. Empty: its records or hooks name it.
    None: it cannot be known."""
    if importer.find_folder is None:
        return ""
    ids = [f"{importer.agent}:{one}" for one in (found.session_id, found.parent_id)]
    with database.reading() as db:
        known = db.execute(
            "SELECT 1 FROM session WHERE id IN (?, ?) AND working_directory <> ''", ids
        ).fetchone()
    return "" if known else importer.find_folder(found, file) or None


def read_folder(importer: Importer, found: Transcript) -> str:
    """Read a transcript's folder from its place, or its first records; empty if unknown."""
    if found.folder or importer.parse_line is None:
        return found.folder
    with suppress(OSError), open_plain(found.path, follow=False) as file:
        if importer.find_folder is not None:
            return importer.find_folder(found, file)
        state = State()
        for _, _, data in read_lines(file, 0, HEAD_BYTES):
            with suppress(*EXPECTED_ERRORS, RecursionError):
                value = json.loads(data or b"")
                for record in importer.parse_line(value, state) if isinstance(value, dict) else ():
                    if isinstance(record, SessionRecord) and record.working_directory:
                        return record.working_directory
    return ""


def name_session(found: Transcript, folder: str) -> SessionRecord:
    """Return the record of the session named by a transcript's place."""
    return SessionRecord(
        found.session_id,
        found.parent_id,
        "subagent" if found.parent_id else "",
        working_directory=folder,
    )


class Source(NamedTuple):
    """A row of the table of sources."""

    id: int
    place: FilePlace
    size: int
    mtime_ns: int
    messages: int
    elsewhere: int
    state: State


def load_source(db: sqlite3.Connection, path: str) -> Source | None:
    row = db.execute(
        "SELECT id, device, inode, head_bytes, head_sha256, offset, size, mtime_ns, messages,"
        " elsewhere, state FROM source WHERE path_key = ?",
        (key_of(path),),
    ).fetchone()
    if row is None:
        return None
    id_, *place, size, mtime_ns, messages, elsewhere, state = row
    return Source(id_, FilePlace(*place), size, mtime_ns, messages, elsewhere, json.loads(state))


class Measure(NamedTuple):
    """The size and times that show whether a transcript changed; for a database also those of its
    logs."""

    device: int
    inode: int
    size: int
    mtime_ns: int


def measure(found: Transcript, status: os.stat_result | None = None) -> Measure:
    """Measure a transcript, whose status may be known already.

    Raises:
        OSError: it does not exist.
    """
    status = status or os.stat(found.path, follow_symlinks=False)
    size, mtime_ns = status.st_size, status.st_mtime_ns
    if found.log:
        with suppress(OSError):
            log = os.stat(found.log, follow_symlinks=False)
            size, mtime_ns = size + log.st_size, max(mtime_ns, log.st_mtime_ns)
    return Measure(status.st_dev, status.st_ino, size, mtime_ns)


def find_form(db: sqlite3.Connection, path: str) -> str:
    """Return the form of a file that the user named; empty for a host's own transcript."""
    row = db.execute("SELECT agent FROM source WHERE path_key = ?", (key_of(path),)).fetchone()
    return row[0].removeprefix(NAMED) if row and row[0].startswith(NAMED) else ""


def is_old(found: Transcript, since: float) -> bool:
    """Return whether a transcript last changed before a time."""
    try:
        return measure(found).mtime_ns < since * 1e9
    except OSError:
        return False


def needs_reading(database: Database, found: Transcript, since: float = 0.0) -> bool:
    """Return from a file's status whether it may have news. A file last changed before `since` has
    none: its sessions would expire at once."""
    try:
        now = measure(found)
    except OSError:
        return False
    if now.mtime_ns < since * 1e9:
        return False
    with database.reading() as db:
        source = load_source(db, found.path)
    if source is None or source.state.get(EXPIRED, -1.0) >= since:
        return True
    place = source.place
    if (place.device, place.inode) != (now.device, now.inode):
        return True
    if source.elsewhere == ELSEWHERE and now.size >= source.size:
        return False
    # A deadline came before its end, or its last line is incomplete.
    is_cut = place.offset < source.size and not source.elsewhere
    return is_cut or (source.size, source.mtime_ns) != (now.size, now.mtime_ns)


def count_unread(database: Database, found: Transcript) -> int:
    """Return how many bytes of a transcript are unread; 0 if it is gone. For a changed database at
    least 1: its size is not significant."""
    try:
        now = measure(found)
    except OSError:
        return 0
    with database.reading() as db:
        source = load_source(db, found.path)
    more = now.size - (source.place.offset if source else 0)
    is_changed = source is None or (source.size, source.mtime_ns) != (now.size, now.mtime_ns)
    return max(more, 1 if found.log and is_changed else 0)


def clean_state(value: Any, gate: Gate) -> Any:  # noqa: ANN401 - JSON
    """Return a parser's saved state, cleaned for storing. A text that cleaning would change is
    replaced by its digest, like a session's id, so that it can be matched."""
    if isinstance(value, str):
        is_clean = gate.clean(value) == value
        return value if is_clean else key_of(value).hex()
    if isinstance(value, dict):
        return {key: clean_state(item, gate) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean_state(item, gate) for item in value]
    return value


def forget_source(db: sqlite3.Connection, path: str) -> None:
    """Delete the record of a file, and that sessions came from it."""
    db.execute("DELETE FROM source WHERE path_key = ?", (key_of(path),))
    db.execute("UPDATE session SET source_path = '' WHERE source_path = ?", (path,))


def note_drift(db: sqlite3.Connection, source_id: int, offset: int) -> str:
    row = db.execute("SELECT messages, elsewhere FROM source WHERE id = ?", (source_id,)).fetchone()
    problem = DRIFT if offset >= DRIFT_BYTES and not row[0] and not row[1] else ""
    db.execute("UPDATE source SET problem = ? WHERE id = ?", (problem, source_id))
    return problem


def save_source(  # noqa: PLR0913, PLR0917 - the columns of a row
    db: sqlite3.Connection,
    agent: str,
    path: str,
    gate: Gate,
    status: Measure,
    place: FilePlace,
    state: State,
    elsewhere: int,
) -> int:
    """Store the reading position of a source; return the number of its row."""
    row = db.execute(
        "INSERT INTO source (path_key, agent, path, device, inode, head_bytes, head_sha256,"
        " size, mtime_ns, offset, elsewhere, state, seen_at)"
        " VALUES (:key, :agent, :path, :device, :inode, :head_bytes, :head_sha256, :size,"
        " :mtime_ns, :offset, :elsewhere, :state, :now)"
        " ON CONFLICT (path_key) DO UPDATE SET agent = IIF(excluded.agent LIKE 'file:%' AND"
        " agent NOT LIKE 'file:%', agent, excluded.agent), device = excluded.device,"
        " inode = excluded.inode, head_bytes = excluded.head_bytes,"
        " head_sha256 = excluded.head_sha256,"
        " size = excluded.size, mtime_ns = excluded.mtime_ns, offset = excluded.offset,"
        " elsewhere = excluded.elsewhere, state = excluded.state, seen_at = excluded.seen_at"
        " RETURNING id",
        {
            **status._asdict(),
            **place._asdict(),
            "key": key_of(path),
            "agent": agent,
            "path": gate.clean_head(path, 4096),
            "elsewhere": elsewhere,
            "state": json.dumps(clean_state(state, gate)),
            "now": time.time(),
        },
    ).fetchone()
    return int(row[0])


def note_bad_lines(
    db: sqlite3.Connection, source_id: int, bad: Sequence[tuple[Line, str]], gate: Gate
) -> None:
    """Note the unreadable lines, each with the reason."""
    for (start, end, data), reason in bad:
        excerpt = gate.clean_head(_read_excerpt(data or b""), EXCERPT_BYTES)
        db.execute(
            "INSERT OR REPLACE INTO import_error VALUES (?, ?, ?, ?, ?)",
            (source_id, start, end - start, reason, excerpt),
        )


def _read_excerpt(data: bytes) -> str:
    """Return the beginning of a line that is not JSON, with the additional text that the gate
    examines, and with its escapes decoded."""
    text = data[: EXCERPT_BYTES + CONTEXT_CHARS].decode(errors="replace")
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)
