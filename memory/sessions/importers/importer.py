"""The row of a host, and what it works on. Nothing here touches the store."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Any, BinaryIO, Protocol

from base.named_tuples import NamedTuple
from memory.sessions.records import Record, SessionRecord

State = dict[str, Any]
"""What a parser has to know of the lines before; it is kept as JSON between two readings, so it
has no text of a message in it. It begins empty with each file."""

ParseLine = Callable[[Mapping[str, Any], State], Iterator[Record]]
"""Read one line's JSON object. What is unknown or malformed yields nothing; it never raises for
the form of a value other than ValueError, KeyError, TypeError, AttributeError or IndexError, which
count as a bad line."""


class Ground(NamedTuple):
    """Where transcripts are looked for. `project` is a real path; empty: those of all projects.
    `root` is the folder in which a person has them, in place of the host's own."""

    home: str
    environ: Mapping[str, str]
    project: str = ""
    root: str = ""


class Found(NamedTuple):
    """One transcript. `session_id` and `folder` are what its place says; empty: its records do.
    Of a database of many sessions `session_id` is the only one to be read, and `log` is the path of
    the file in which its newest rows are. `parent_id` is the session that a subagent's is of.
    `form` is set where a person named the file: which row reads it. Its sessions are kept, and no
    host is read for their sake."""

    path: str
    session_id: str = ""
    folder: str = ""
    log: str = ""
    parent_id: str = ""
    form: str = ""


class ReadSessions(Protocol):
    """Reads what is new in a database of many sessions, of any project: those that `wants` takes,
    or the only one. `state` has how far the last reading came. None is yielded wherever reading may
    stop, and each time `state` is further than before."""

    def __call__(
        self, path: str, state: State, wants: Callable[[SessionRecord], bool], only: str = ""
    ) -> Generator[Record | None, None, None]: ...


class Importer(NamedTuple):
    """One host's transcripts.

    `agent` names the host in what is kept. `find` lists the transcripts that may be of the ground's
    project; whether they are, the sessions' working directories say. A file of lines has
    `parse_line`. Others are read as a whole when they changed: `read_file` gets the path and the
    state of the last reading, in which it may keep how far it came. A database of the sessions of
    many projects has `read_sessions`.
    `roots` are the folders that `find` looks in, to be watched. Where `keys_are_global`, a key or a
    response that another session has is a copy of it, as a fork's beginning is.
    `find_folder` is for hosts whose records have no working directory: it says in which one a
    session worked, empty where that cannot be known; then nothing of it is read.
    """

    agent: str
    title: str
    roots: Callable[[Ground], Iterator[str]]
    find: Callable[[Ground], Iterator[Found]]
    parse_line: ParseLine | None = None
    read_file: Callable[[str, State], Iterator[Record]] | None = None
    keys_are_global: bool = False
    read_sessions: ReadSessions | None = None
    find_folder: Callable[[Found, BinaryIO], str] | None = None
