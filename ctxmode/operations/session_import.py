"""Import of sessions from a file that the user named. Sessions that began in the project go into
its store, all others into the user's own store."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ctxmode.config.locations import Config
from ctxmode.errors import UsageError, translate_errors, why
from ctxmode.hosts.registry import find_importer, list_agents, list_importers
from ctxmode.operations.session_store import belongs_to, find_users_store
from ctxmode.operations.sessions import open_sessions, open_users_sessions, read_recording
from memory.sessions import Imported, SessionRecord, SessionStore
from memory.sessions.importers import (
    Contents,
    Importer,
    RefusedError,
    Transcript,
    detect_form,
    keep_sessions,
    list_contents,
)

INDEX_S = 60.0  # seconds for indexing turns after an import; searches index the rest
IDS_NAMED = 20
OWN_FORMS = ("own", "own_lines")
AGENT = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
KNOWN = (
    "Supported: our own messages.json and lines of messages, ChatGPT's conversations.json or its"
    " archive, saved chats and the Takeout activity of Gemini, and transcripts of "
    + ", ".join(list_agents())
    + ". Windsurf's own *.pb files are encrypted: its transcripts are in ~/.windsurf/transcripts."
)


@dataclass(slots=True)
class Stored:
    """Sessions and messages imported into one store: the project's, or the user's own."""

    store: str
    path: str
    session_ids: set[str] = field(default_factory=set)
    messages: int = 0
    turns_left: int = 0


@dataclass(slots=True)
class ImportAnswer:
    """The result of an import."""

    form: str
    keeps_texts: bool
    stored: list[Stored] = field(default_factory=list)
    bad_lines: int = 0
    problem: str = ""  # why the file was not fully read

    @property
    def sessions(self) -> int:
        return sum(len(one.session_ids) for one in self.stored)

    @property
    def messages(self) -> int:
        return sum(one.messages for one in self.stored)


def check_import(config: Config, agent: str) -> bool:
    """Check that recording is allowed; return whether full texts are stored. Raise UsageError if
    recording is turned off, or the agent's name is invalid."""
    recording = read_recording(config)
    if not recording.events:
        raise UsageError(
            f"cannot import: {recording.off_by} turns recording off",
            "Turn transcripts.events on there to import sessions.",
        )
    if agent and not AGENT.fullmatch(agent):
        raise UsageError(f"invalid agent {agent!r}", "Use a-z, 0-9, _ and -, such as my_agent.")
    return recording.messages


def import_file(
    config: Config, name: Path, *, agent: str = "", session: str = "", is_passing: bool = False
) -> ImportAnswer:
    """Import all sessions of a file. `agent` names the host of its format, or the author in our own
    format; `session` names the session of messages without one. The path of a file that
    `is_passing` is not stored.

    Raises:
        UsageError: the file has no readable sessions.
        ContextModeError: a store cannot be written.
    """
    keeps_texts = check_import(config, agent)
    path = _find_file(name)
    form = _find_form(path, agent)
    row = find_importer(form)
    assert row is not None
    answer = ImportAnswer(form, keeps_texts)
    contents = sessions, is_nameless = list_contents(str(path), form, row)
    found = Transcript(str(path), form=form)
    if is_nameless or (not sessions and row.parse_line is not None):
        found = found._replace(session_id=session or path.stem)
    nameless = (_label(None, form, row, agent), False)
    for label, is_ours in _list_passes(config, form, row, contents, agent):
        wants = _wants(config, form, contents, label, agent, is_ours=is_ours)
        chosen = keep_sessions(row._replace(agent=label), wants)
        is_its = (label, is_ours) == nameless or form not in OWN_FORMS
        _read(config, answer, chosen, found if is_its else found._replace(session_id=""), is_ours)
        if is_passing:
            with open_target(config, is_ours=is_ours, keep_messages=answer.keeps_texts) as store:
                store.forget_source(str(path))
    if not answer.sessions and (answer.problem or not sessions) and not answer.messages:
        problem = answer.problem or f"no sessions found in the format {row.title.lower()}"
        raise UsageError(f"cannot import {name}: {problem}", KNOWN)
    index_stored(config, answer)
    return answer


def _find_file(name: Path) -> Path:
    try:
        path = name.resolve(strict=True)
        if not path.is_file():
            raise UsageError(
                f"cannot read {name}: not a regular file", "Give a file, or - for stdin."
            )
        with path.open("rb"):
            return path
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {name}: {why(error)}", "Give a readable file.") from error


def _find_form(path: Path, agent: str) -> str:
    try:
        form = detect_form(str(path), list_importers())
    except (OSError, ValueError) as error:
        if isinstance(error, RefusedError | OSError):
            raise UsageError(f"cannot read {path}: {why(error)}", KNOWN) from error
        form = ""
    if form in OWN_FORMS and agent:
        return form
    if agent:
        if find_importer(agent) is None:
            raise UsageError(f"unknown agent {agent!r}", KNOWN)
        # A host's saved chats may have another format than its transcripts.
        row, named = find_importer(form), find_importer(agent)
        is_same = row is not None and named is not None and row.agent == named.agent
        return form if is_same else agent
    if not form:
        raise UsageError(f"cannot import {path}: unknown format", KNOWN)
    return form


def _list_passes(
    config: Config, form: str, row: Importer, contents: Contents, agent: str
) -> list[tuple[str, bool]]:
    """List the passes to read the file: agent, and whether for the project's store."""
    sessions, is_nameless = contents
    passes = dict.fromkeys(
        (_label(one, form, row, agent), _is_ours(config, one)) for one in sessions
    )
    if form not in OWN_FORMS and row.parse_line is not None:
        return [(row.agent, any(is_ours for _, is_ours in passes))]
    if is_nameless or not passes:
        passes[_label(None, form, row, agent), False] = None
    return list(passes)


def _wants(
    config: Config, form: str, contents: Contents, label: str, agent: str, *, is_ours: bool
) -> Callable[[SessionRecord], bool]:
    """Return a predicate for the sessions of one pass."""
    row = find_importer(form)
    assert row is not None
    if form not in OWN_FORMS and row.parse_line is not None:
        return lambda record: True
    known = {one.id: one for one in contents[0]}

    def wants(record: SessionRecord) -> bool:
        one = known.get(record.id, record)
        return (_label(one, form, row, agent), _is_ours(config, one)) == (label, is_ours)

    return wants


def _label(session: SessionRecord | None, form: str, row: Importer, agent: str) -> str:
    """Return the agent of a session: from our own format, else the format's agent."""
    if form not in OWN_FORMS:
        return row.agent
    told = session.agent if session else ""
    return agent or (told if AGENT.fullmatch(told) else row.agent)


def _is_ours(config: Config, session: SessionRecord) -> bool:
    """Return whether a session began in the project."""
    folder = session.working_directory
    try:
        return folder.startswith("/") and belongs_to(str(config.project), str(config.home))(folder)
    except (ValueError, OSError):
        return False


def _read(
    config: Config, answer: ImportAnswer, row: Importer, found: Transcript, is_ours: bool
) -> None:
    with open_target(config, is_ours=is_ours, keep_messages=answer.keeps_texts) as store:
        done: Imported = store.import_transcript(row, found)
        if done.is_held:
            raise UsageError(f"{found.path} is already being imported", "Wait until that ends.")
        stored = find_stored(config, answer, is_ours=is_ours)
        stored.session_ids |= done.session_ids
        stored.messages += done.messages
        answer.bad_lines = max(answer.bad_lines, done.bad_lines)
        answer.problem = answer.problem or done.problem


@contextmanager
def open_target(config: Config, *, is_ours: bool, keep_messages: bool) -> Iterator[SessionStore]:
    """Open the store of the project, or of the user; create it if it is missing."""
    if is_ours:
        with open_sessions(config, create=True) as store:
            yield store
        return
    with open_users_sessions(config, keep_messages=keep_messages, create=True) as store:
        yield store


def find_stored(config: Config, answer: ImportAnswer, *, is_ours: bool) -> Stored:
    """Find the counts of one store, or add them."""
    path = str(config.sessions_file if is_ours else find_users_store(config))
    for one in answer.stored:
        if one.path == path:
            return one
    answer.stored.append(Stored("project" if is_ours else "user", path))
    return answer.stored[-1]


def index_stored(config: Config, answer: ImportAnswer) -> None:
    """Index new turns, for up to INDEX_S."""
    from ctxmode.operations.library import open_library  # noqa: PLC0415 - loads the index
    from ctxmode.operations.session_search import (  # noqa: PLC0415
        index_turns,
        open_users_index,
    )

    deadline = time.monotonic() + INDEX_S
    for stored in answer.stored:
        is_ours = stored.store == "project"
        if not stored.messages:
            continue
        target = open_target(config, is_ours=is_ours, keep_messages=answer.keeps_texts)
        with target as sessions, translate_errors():
            if is_ours:
                with open_library(config) as library:
                    stored.turns_left = index_turns(sessions, library.store, deadline=deadline)
            else:
                with open_users_index(config) as index:
                    stored.turns_left = index_turns(sessions, index, deadline=deadline)
