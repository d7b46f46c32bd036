"""Detection of the form of a user's file from its content."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice

from base.plain_files import open_plain
from memory.sessions.importers.archive import is_archive, list_names
from memory.sessions.importers.chatgpt import MEMBERS
from memory.sessions.importers.importer import FORMS, Importer, State, find_form
from memory.sessions.importers.own import FORMAT
from memory.sessions.importers.whole_json import (
    RefusedError,
    read_array,
    read_members,
)
from memory.sessions.line_reader import read_lines
from memory.sessions.records import MessageRecord, Record, SessionRecord

LOOKED_AT_LINES = 200
LOOKED_AT_BYTES = 8 << 20
LOOKED_AT_RECORDS = 500
NO_FOLDERS = ("chatgpt", "gemini_export")
"""Forms that never name the folder of a session."""

MANY_SESSIONS = ("own", "own_lines")
_EXPECTED_ERRORS = (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError)


Contents = tuple[tuple[SessionRecord, ...], bool]
"""The content of a file: the beginnings of its sessions, and whether messages come before any."""


def detect_form(path: str, hosts: Iterable[Importer]) -> str:
    """Return the name of the row that reads a file, of a form or of a host; empty if none does.

    Raises:
        OSError: it cannot be read, or is a link.
        RefusedError: it is an archive of another kind.
    """
    if is_archive(path):
        if any(re.fullmatch(MEMBERS, name.split("/")[-1]) for name in list_names(path)):
            return "chatgpt"
        raise RefusedError("the archive has no conversations.json, or is damaged")
    with open_plain(path, follow=False) as file:
        first = file.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if first == b"[":
        return _detect_array(path)
    if first == b"{":
        return _detect_object(path) or _detect_lines(path, hosts)
    return _detect_whole(path, hosts)


def _detect_array(path: str) -> str:
    with suppress(ValueError):
        for one in read_array(path):
            if "mapping" in one:
                return "chatgpt"
            if ("role" in one and "parts" in one) or ("title" in one and "time" in one):
                return "gemini_export"
            return ""
    return ""


def _detect_object(path: str) -> str:
    """Detect the form from the names of the members of the file, or of its first line."""
    names = set[str]()
    with suppress(ValueError):
        for name, value, is_one in read_members(path, "messages"):
            names.add(name)
            if name == "format" and value == FORMAT:
                return "own"
            if name == "mapping" and isinstance(value, dict):
                return "chatgpt"
            if name == "history" and isinstance(value, list):
                return "gemini_export"
            if is_one and {"sessionId", "messages"} <= names:
                return "gemini_export"
    return ""


def _detect_lines(path: str, hosts: Iterable[Importer]) -> str:
    """Try the rows that read lines; return the one that reads most of them."""
    values = _read_values(path)
    if any(one.get("type") == "session" and one.get("id") for one in values[:1]):
        return "own_lines"
    scores = {}
    rows = {one.agent: one for one in hosts} | {name: find_form(name) for name in FORMS}
    for name, row in rows.items():
        if row is not None and row.parse_line is not None:
            scores[name] = sum(map(_says_something, _parse_all(row, values)))
    best = max(scores, key=scores.__getitem__, default="")
    return best if best and scores[best] else ""


def _read_values(path: str) -> list[dict[str, object]]:
    values = list[dict[str, object]]()
    with open_plain(path, follow=False) as file:
        lines = read_lines(file, 0, LOOKED_AT_BYTES, is_complete=True)
        for _, _, data in islice(lines, LOOKED_AT_LINES):
            with suppress(*_EXPECTED_ERRORS):
                value = json.loads(data or b"")
                if isinstance(value, dict):
                    values.append(value)
    return values


def _parse_all(row: Importer, values: list[dict[str, object]]) -> Iterator[Record]:
    assert row.parse_line is not None
    state: State = {}
    for value in values:
        with suppress(*_EXPECTED_ERRORS):
            yield from list(row.parse_line(value, state))


def _says_something(record: Record) -> bool:
    return isinstance(record, MessageRecord) and bool(record.text or record.params or record.tool)


def _detect_whole(path: str, hosts: Iterable[Importer]) -> str:
    """Try the hosts whose files are not text, such as databases."""
    for row in hosts:
        if row.read_file is None:
            continue
        with suppress(OSError, sqlite3.Error, *_EXPECTED_ERRORS):
            records = islice(row.read_file(path, {}), LOOKED_AT_RECORDS)
            if any(map(_says_something, records)):
                return row.agent
    return ""


def list_contents(path: str, form: str, row: Importer) -> Contents:
    """List the sessions of a file; for a host's transcript, only up to the first with a folder,
    since all of it belongs to one."""
    if form in NO_FOLDERS:
        return (), False
    sessions: dict[str, SessionRecord] = {}
    is_nameless = False
    with suppress(OSError, sqlite3.Error, *_EXPECTED_ERRORS):
        for record in _read_records(path, row):
            if isinstance(record, SessionRecord):
                known = sessions.setdefault(record.id, record)
                if record.working_directory and not known.working_directory:
                    sessions[record.id] = record
                if record.working_directory and form not in MANY_SESSIONS and row.parse_line:
                    break
            elif not sessions:
                is_nameless = True
    return tuple(sessions.values()), is_nameless


def _read_records(path: str, row: Importer) -> Iterator[Record]:
    state: State = {}
    if row.read_file is not None:
        yield from row.read_file(path, state)
        return
    assert row.parse_line is not None
    with open_plain(path, follow=False) as file:
        size = file.seek(0, 2)
        for _, _, data in read_lines(file, 0, size, is_complete=True):
            with suppress(*_EXPECTED_ERRORS):
                value = json.loads(data or b"")
                if isinstance(value, dict):
                    yield from list(row.parse_line(value, state))


def keep_sessions(row: Importer, wants: Callable[[SessionRecord], bool]) -> Importer:
    """Return an importer that only passes on the records of some sessions, by their beginnings."""
    kept: dict[str, bool] = {}
    is_kept = [wants(SessionRecord(""))]

    def choose(records: Iterator[Record]) -> Iterator[Record]:
        for record in records:
            if isinstance(record, SessionRecord):
                is_kept[0] = kept.setdefault(record.id, wants(record))
            if is_kept[0]:
                yield record

    parse_line, read_file = row.parse_line, row.read_file
    if parse_line is not None:
        return row._replace(parse_line=lambda value, state: choose(parse_line(value, state)))
    assert read_file is not None
    return row._replace(read_file=lambda path, state: choose(read_file(path, state)))
