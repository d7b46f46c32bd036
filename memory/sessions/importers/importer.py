"""The row of a host, and what it works on. Nothing here touches the store."""

from __future__ import annotations

import importlib
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
    """The places where transcripts are looked for."""

    home: str
    environ: Mapping[str, str]
    project: str = ""  # a real path; empty: all projects
    root: str = ""  # the folder in which a person has them, in place of the host's own


class Transcript(NamedTuple):
    """A transcript that was found.

    Sessions of a file that a person named are kept, and no host is read for their sake.

    Attributes:
        session_id: what its place says; empty: its records do. Of a database: the only one read.
    """

    path: str
    session_id: str = ""
    folder: str = ""  # what its place says; empty: its records do
    log: str = ""  # of a database: the path of the file in which its newest rows are
    parent_id: str = ""  # the session that a subagent's is of
    form: str = ""  # which row reads it; set where a person named the file


class ReadSessions(Protocol):
    """Reads what is new in a database of many sessions, of any project: those that `wants` takes,
    or the only one. `state` has how far the last reading came. None is yielded wherever reading may
    stop, and each time `state` is further than before."""

    def __call__(
        self, path: str, state: State, wants: Callable[[SessionRecord], bool], only: str = ""
    ) -> Generator[Record | None, None, None]: ...


class Importer(NamedTuple):
    """A host's transcripts.

    A file of lines has `parse_line`. Others are read as a whole when they changed, by `read_file`.

    Attributes:
        agent: names the host in what is kept.
        roots: the folders that `find` looks in, to be watched.
        find: lists the transcripts that may be of the ground's project; whether they are, the
            sessions' working directories say.
        read_file: gets the path and the state of the last reading, in which it may keep how far it
            came.
        keys_are_global: whether a key or response of another session is a copy, as in a fork.
        read_sessions: for a database of the sessions of many projects.
        find_folder: for hosts whose records have no working directory: the one in which a session
            worked, empty where that cannot be known; then nothing of it is read.
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


MODULES: Mapping[str, str] = {
    "claude_code": "claude_code",
    "codex": "codex",
    "gemini": "gemini_cli",
    "qwen_code": "qwen_code",
    "copilot_cli": "copilot_cli",
    "opencode": "opencode",
    "cursor": "cursor",
    "windsurf": "windsurf",
}
"""The module of each agent; it has the agent's row, `IMPORTER`."""

FORMS: Mapping[str, str] = {
    "own": "own",
    "own_lines": "own_lines",
    "chatgpt": "chatgpt",
    "gemini_export": "gemini_export",
}
"""The same of forms whose files a person names, since none is found by itself."""


def find_importer(agent: str) -> Importer | None:
    """Return the row of an agent, or of a form; None if there is none."""
    module = MODULES.get(agent) or FORMS.get(agent)
    if module is None:
        return None
    row: Importer = importlib.import_module(f"memory.sessions.importers.{module}").IMPORTER
    return row


def list_importers() -> Iterator[Importer]:
    """Yield the rows of hosts, whose transcripts are found."""
    for agent in MODULES:
        if (importer := find_importer(agent)) is not None:
            yield importer
