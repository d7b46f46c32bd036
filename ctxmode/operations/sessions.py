"""The sessions of a project for the command line: opened, kept within their bounds, forgotten."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ctxmode.config.locations import Config
from ctxmode.config.transcripts import Recording, load_recording
from ctxmode.errors import ContextModeError, UsageError
from ctxmode.operations.session_store import USER_STORE, open_session_store
from memory.sessions import keeping, reading
from memory.sessions.errors import SessionsError, UnknownSessionError
from memory.sessions.importers.importer import Ground
from memory.sessions.model import Session
from memory.sessions.store import SessionStore


@contextmanager
def translate_session_errors() -> Iterator[None]:
    """Raise errors of the room of sessions as errors of the front door."""
    try:
        yield
    except UnknownSessionError as error:
        raise UsageError(error.message, error.remedy) from error
    except SessionsError as error:
        raise ContextModeError(error.message, error.remedy) from error


def read_recording(config: Config) -> Recording:
    """Read what is recorded of the project's sessions, and who turned it off."""
    return load_recording(str(config.project), str(config.config_home), os.environ)


def find_ground(config: Config) -> Ground:
    """Return where the project's transcripts are looked for."""
    return Ground(str(config.home), os.environ, str(config.project))


@contextmanager
def open_sessions(config: Config, *, create: bool = False) -> Iterator[SessionStore]:
    """Open the project's store, after what is too old or too much has gone from it."""
    keep_messages = read_recording(config).messages
    project, home = str(config.project), str(config.home)
    with (
        translate_session_errors(),
        open_session_store(
            config.sessions_file, project, home, keep_messages=keep_messages, create=create
        ) as store,
    ):
        if not store.database.is_read_only:
            _let_go(config, store)
        yield store


def list_stores(config: Config, *, everywhere: bool = False) -> list[Path]:
    """List the stores that exist: the project's and the user's own, or those of all projects."""
    folder = config.sessions_file.parent
    if everywhere:
        return sorted(path for path in folder.glob("*.sessions.sqlite3") if path.is_file())
    return [path for path in (config.sessions_file, folder / USER_STORE) if path.is_file()]


def list_sessions(
    config: Config,
    *,
    agent: str = "",
    status: str = "",
    limit: int | None = 20,
    everywhere: bool = False,
) -> list[Session]:
    """List sessions over all the stores that are meant, the latest activity first."""
    found: list[Session] = []
    for path in list_stores(config, everywhere=everywhere):
        with (
            translate_session_errors(),
            open_other(config, path) as store,
            store.database.reading() as db,
        ):
            found += reading.list_sessions(db, agent=agent, status=status, limit=limit)
    found.sort(key=lambda session: session.last_at or 0.0, reverse=True)
    return found if limit is None else found[:limit]


@contextmanager
def open_other(config: Config, path: Path) -> Iterator[SessionStore]:
    """Open a store that exists, of this project or another."""
    if path == config.sessions_file:
        with open_sessions(config) as store:
            yield store
    else:
        with open_session_store(path, "", str(config.home), create=False) as store:
            yield store


def find_session(store: SessionStore, wanted: str) -> Session:
    """Find a session by its id or the beginning of it; an empty one is the latest.

    Raises:
        UnknownSessionError: there is none, or several.
    """
    with store.database.reading() as db:
        if not wanted and (latest := reading.list_sessions(db, limit=1)):
            return latest[0]
        return reading.find_session(db, wanted)


def forget_sessions(config: Config, store: SessionStore, session_ids: Sequence[str]) -> list[str]:
    """Delete sessions for good, their searchable turns included; return all that went."""
    with store.database.writing() as db:
        gone = keeping.forget(db, session_ids)
    with store.database.exclusively() as db:
        keeping.compact(db)
    _forget_turns(config, gone)
    return gone


def _let_go(config: Config, store: SessionStore) -> None:
    from ctxmode.operations.session_tracking import let_go  # noqa: PLC0415 - loads the index

    if gone := let_go(config, store, None):
        _forget_turns(config, gone)


def _forget_turns(config: Config, gone: list[str]) -> None:
    if not gone or not config.database.exists():
        return
    from ctxmode.operations.library import open_library  # noqa: PLC0415 - loads the index
    from ctxmode.operations.session_search import forget_turns  # noqa: PLC0415

    with open_library(config) as library:
        forget_turns(library.store, gone)
