"""The row of a host, and its data types. This module does not use the store."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Any, BinaryIO, Protocol

from base.named_tuples import NamedTuple
from memory.sessions.records import Record, SessionRecord

State = dict[str, Any]
"""A parser's knowledge of earlier lines. It is stored as JSON between two readings, so it has no
texts of messages. It is empty at the beginning of each file."""

ParseLine = Callable[[Mapping[str, Any], State], Iterator[Record]]
"""Parser of one line's JSON object. Unknown or malformed values yield nothing. It raises only
ValueError, KeyError, TypeError, AttributeError or IndexError for them, which count as a bad
line."""


class Ground(NamedTuple):
    """The places where transcripts are looked for."""

    home: str
    environ: Mapping[str, str]
    project: str = ""  # a real path; empty: all projects
    root: str = ""  # the user's folder of transcripts, instead of the host's own


class Transcript(NamedTuple):
    """A transcript that was found. Sessions of a file that the user named are stored, and no host
    is read for them.

    Attributes:
        session_id: the id from its place; empty if its records name it. In a database, the only
            session read.
    """

    path: str
    session_id: str = ""
    folder: str = ""  # the folder from its place; empty if its records name it
    log: str = ""  # for a database: the path of the file with its newest rows
    parent_id: str = ""  # the parent session of a subagent's
    form: str = ""  # the row that reads it; set if the user named the file


class ReadSessions(Protocol):
    """Reader of new records in a database of many sessions, of any project: the sessions that
    `wants` accepts, or the only one. `state` has the last position. None is yielded wherever
    reading may stop, and each time `state` has advanced."""

    def __call__(
        self, path: str, state: State, wants: Callable[[SessionRecord], bool], only: str = ""
    ) -> Generator[Record | None, None, None]: ...


class Importer(NamedTuple):
    """A host's transcripts. Files of lines are read by `parse_line`. Others are read whole by
    `read_file` when they changed.

    Attributes:
        agent: the host's name in the store.
        roots: the folders that `find` looks in, to be watched.
        find: lists the transcripts that may be the project's; the sessions' working directories
            decide.
        read_file: gets the path and the state of the last reading, and may store its position
            there.
        keys_are_global: whether a key or response of another session is a copy, as in a fork.
        read_sessions: for a database of the sessions of many projects.
        find_folder: for hosts whose records have no working directory: finds it; if it is empty,
            the session is not read.
    """

    agent: str
    title: str
    roots: Callable[[Ground], Iterator[str]]
    find: Callable[[Ground], Iterator[Transcript]]
    parse_line: ParseLine | None = None
    read_file: Callable[[str, State], Iterator[Record]] | None = None
    keys_are_global: bool = False
    read_sessions: ReadSessions | None = None
    find_folder: Callable[[Transcript, BinaryIO], str] | None = None


FORMS: Mapping[str, tuple[str, str]] = {
    "own": ("own", "IMPORTER"),
    "own_lines": ("own", "LINES"),
    "chatgpt": ("chatgpt", "IMPORTER"),
}
"""Forms that are only read from files named by the user: the module and the name of each row. Rows
of hosts are given by the caller."""


def find_form(name: str) -> Importer | None:
    """Return the row of a form; None if unknown."""
    if name not in FORMS:
        return None
    module, row = FORMS[name]
    found: Importer = getattr(importlib.import_module(f"memory.sessions.importers.{module}"), row)
    return found
