"""Session stores for the command line: opening, reading, deletion and maintenance."""

from __future__ import annotations

import os
import sqlite3
import stat
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from itertools import chain
from pathlib import Path
from typing import TypeVar

from base.stores import WAIT_S
from ctxmode.config.locations import Config
from ctxmode.config.transcripts import Recording, load_recording
from ctxmode.errors import ContextModeError, UsageError, nothing_kept
from ctxmode.operations.session_store import find_users_store, open_session_store
from memory.errors import MemoryRoomError
from memory.sessions import Session, SessionStore, UnknownSessionError, maintenance, reading
from memory.sessions.importers import Ground

T = TypeVar("T")
EVERYWHERE_S = 20.0  # time limit in seconds for reading the stores in all projects
OTHERS_WAIT_S = 1.0  # seconds to wait for another project's locked store
REPAIR = "Restore its last daily copy: context-mode sessions check --repair"

STEPS_AT_ONCE = 10_000  # number of SQLite steps between two checks of the deadline


@contextmanager
def translate_session_errors() -> Iterator[None]:
    """Raise errors of `memory.sessions` as errors of ctxmode."""
    try:
        yield
    except UnknownSessionError as error:
        raise UsageError(error.message, error.remedy) from error
    except MemoryRoomError as error:
        from base.stores import is_damage  # noqa: PLC0415 - few stores are damaged

        remedy = error.remedy or (REPAIR if is_damage(error) else "")
        raise ContextModeError(error.message, remedy) from error


def read_recording(config: Config) -> Recording:
    """Read the recording settings of the project's sessions, and where they were set."""
    return load_recording(str(config.project), str(config.config_home), os.environ)


def find_ground(config: Config) -> Ground:
    """Return where the project's transcripts are searched for."""
    return Ground(str(config.home), os.environ, str(config.project))


@contextmanager
def open_sessions(config: Config, *, create: bool = False) -> Iterator[SessionStore]:
    """Open the project's store; delete nothing."""
    keep_messages = read_recording(config).messages
    project, home = str(config.project), str(config.home)
    with (
        translate_session_errors(),
        open_session_store(
            config.sessions_file,
            project,
            home,
            keep_messages=keep_messages,
            create=create,
            is_verified=True,
        ) as store,
    ):
        yield store


@contextmanager
def open_users_sessions(
    config: Config, *, keep_messages: bool = False, create: bool = False, wait_s: float = 30.0
) -> Iterator[SessionStore]:
    """Open the user's own store; delete nothing."""
    with (
        translate_session_errors(),
        open_session_store(
            find_users_store(config),
            "",
            str(config.home),
            keep_messages=keep_messages,
            create=create,
            wait_s=wait_s,
            is_verified=True,
        ) as store,
    ):
        yield store


@contextmanager
def open_to_write(config: Config, path: Path) -> Iterator[SessionStore]:
    """Open the project's store or the user's own, which must exist."""
    is_users = path == find_users_store(config)
    with open_users_sessions(config) if is_users else open_sessions(config) as store:
        yield store


def list_stores(config: Config, *, everywhere: bool = False) -> list[Path]:
    """List the existing stores: the project's and the user's own, then optionally those of all
    projects, latest used first."""
    own = (config.sessions_file, find_users_store(config))
    first = [path for path in own if _is_plain(path)]
    if not everywhere:
        return first
    found = config.sessions_file.parent.glob("*.sessions.sqlite3")
    others = [path for path in found if _is_plain(path)]
    return first + sorted((one for one in others if one not in first), key=_age_key)


def _is_plain(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def _age_key(path: Path) -> tuple[float, str]:
    try:
        return (-path.stat().st_mtime, path.name)
    except OSError:  # it was deleted since
        return (0.0, path.name)


def gather(
    config: Config,
    look: Callable[[sqlite3.Connection], T],
    *,
    everywhere: bool = False,
    wait_s: float = EVERYWHERE_S,
) -> tuple[Mapping[Path, T], tuple[str, ...]]:
    """Apply `look` to the project's store and the user's own, or to each project's. Return the
    results, and the skipped stores with reasons.

    Stores are only read. Those that are unreadable or not reached within `wait_s` are skipped.

    Raises:
        ContextModeError: without `everywhere`, the project's own cannot be read.
    """
    deadline = time.monotonic() + wait_s
    found: dict[Path, T] = {}
    left_out: list[str] = []
    for path in list_stores(config, everywhere=everywhere):
        if time.monotonic() >= deadline:
            left_out.append(f"{path}: not reached within {wait_s:.0f} s")
            continue
        try:
            with _open_to_read(config, path) as store, store.database.reading() as db:
                if everywhere:
                    db.set_progress_handler(lambda: time.monotonic() >= deadline, STEPS_AT_ONCE)
                found[path] = look(db)
        except (ContextModeError, ValueError, zlib.error) as error:
            if path == config.sessions_file and not everywhere:
                raise
            is_late = everywhere and time.monotonic() >= deadline
            said = ". ".join(str(error).splitlines())
            why_not = f"not read within {wait_s:.0f} s" if is_late else said
            left_out.append(why_not if str(path) in why_not else f"{path}: {why_not}")
    return found, tuple(left_out)


def list_sessions(
    config: Config, *, agent: str = "", status: str = "", limit: int | None = 20
) -> list[Session]:
    """List the sessions of the project and the user's own, latest activity first."""
    found, _ = list_everywhere(config, agent=agent, status=status, limit=limit, everywhere=False)
    return found


def list_everywhere(
    config: Config,
    *,
    agent: str = "",
    status: str = "",
    limit: int | None = 20,
    everywhere: bool = True,
) -> tuple[list[Session], tuple[str, ...]]:
    """List the sessions of the stores, each once, latest activity first; also return stores that
    could not be read, with reasons."""

    def look(db: sqlite3.Connection) -> list[Session]:
        return reading.list_sessions(db, agent=agent, status=status, limit=limit)

    found, left_out = gather(config, look, everywhere=everywhere)
    return _merge(found.values())[:limit], left_out


def _merge(lists: Iterable[Sequence[Session]]) -> list[Session]:
    """Merge lists of several stores, latest activity first. If two stores have a session, such as
    after a project was moved, use the first."""
    by_id: dict[str, Session] = {}
    for session in chain.from_iterable(lists):
        by_id.setdefault(session.id, session)
    return sorted(by_id.values(), key=lambda one: one.last_at or 0.0, reverse=True)


def find_holding_store(
    config: Config, wanted: str, *, everywhere: bool = False
) -> tuple[Path, Session]:
    """Find a session by its ID or the beginning of it (empty: the latest), and the store that has
    it: the project's or the user's own, or any project's. Raise UsageError if no session matches,
    or several, which the message lists."""

    def look(db: sqlite3.Connection) -> tuple[tuple[Session, ...], list[Session]]:
        latest = reading.list_sessions(db, limit=reading.CANDIDATES_NAMED)
        return (reading.find_likely(db, wanted) if wanted else tuple(latest[:1])), latest

    of_stores, left_out = gather(config, look, everywhere=everywhere)
    if not of_stores and not left_out:
        raise nothing_kept("session", wanted)
    likely = _merge(likely for likely, _ in of_stores.values())
    latest = _merge(latest for _, latest in of_stores.values())
    with translate_session_errors():
        try:
            session = reading.choose_session(wanted, likely if wanted else likely[:1], latest)
        except UnknownSessionError as error:
            error.remedy = "\n".join((error.remedy, *map("Not read: {}".format, left_out)))
            raise
    holding = (path for path, (found, _) in of_stores.items() if session in found)
    return next(holding), session


@contextmanager
def open_holding_store(
    config: Config, wanted: str, *, everywhere: bool = False, to_write: bool = False
) -> Iterator[tuple[SessionStore, Session]]:
    """Open the store that `find_holding_store` finds, for reading. With `to_write` it is the
    project's or the user's own, never another's. Raise UsageError if no session matches, or
    several, which the message lists."""
    path, session = find_holding_store(config, wanted, everywhere=everywhere and not to_write)
    with open_to_write(config, path) if to_write else _open_to_read(config, path) as store:
        yield store, session


@contextmanager
def _open_to_read(config: Config, path: Path) -> Iterator[SessionStore]:
    """Open a store for reading. The project's store, and the user's if damaged, are repaired;
    others are not changed."""
    from base.stores import is_unsound  # noqa: PLC0415 - hooks do not need it

    if path == config.sessions_file:
        with open_sessions(config) as store:
            yield store
    elif path == find_users_store(config) and is_unsound(path):
        with open_users_sessions(config, wait_s=OTHERS_WAIT_S) as store:
            yield store
    else:
        with (
            translate_session_errors(),
            open_session_store(
                path, "", str(config.home), read_only=True, wait_s=OTHERS_WAIT_S
            ) as store,
        ):
            yield store


def find_session(store: SessionStore, wanted: str, owners: Sequence[str] = ()) -> Session:
    """Find a session by its ID or the beginning of it; empty means the latest. With owners, search
    only their sessions. Raise UnknownSessionError if no session matches, or several."""
    with store.database.reading() as db:
        if not wanted and (latest := reading.list_sessions(db, limit=1, owners=owners)):
            return latest[0]
        return reading.find_session(db, wanted, owners=owners)


def find_holders(
    config: Config, session_ids: Sequence[str]
) -> tuple[Mapping[Path, list[str]], tuple[str, ...]]:
    """Find which of some sessions are in the project's store and the user's own, as `gather`
    does."""

    def look(db: sqlite3.Connection) -> list[str]:
        held = "SELECT 1 FROM session WHERE id = ?"
        return [one for one in session_ids if db.execute(held, (one,)).fetchone()]

    return gather(config, look)


def forget_sessions(config: Config, store: SessionStore, session_ids: Sequence[str]) -> list[str]:
    """Permanently delete sessions of a store, with their indexed turns; return the deleted IDs.

    If their turns cannot be deleted, nothing is deleted, so the call can be repeated. Copies of the
    file are deleted first; a new copy lists the sessions that must not be read again."""
    from base.stores import verify_structure  # noqa: PLC0415 - few forget

    # If the file were damaged without copies, the list of deleted sessions would be lost.
    verify_structure(store.database, bytes_max=sys.maxsize)
    with store.database.writing() as db:
        _drop_copies(store)
        gone = maintenance.forget(db, session_ids)
        _forget_turns(config, store, gone)
    with store.database.exclusively() as db:
        maintenance.compact(db)
    copy_again(store)
    return gone


def _drop_copies(store: SessionStore) -> None:
    from base.stores import drop_copies  # noqa: PLC0415 - few forget

    try:
        drop_copies(store.database.path)
    except OSError as error:
        raise ContextModeError(
            f"{error.filename}: {error.strerror}",
            "Delete this copy of the sessions, and try again.",
        ) from error


def copy_again(store: SessionStore) -> None:
    """Copy a store again today, if there is room: the user's changes are in no transcript."""
    with suppress(OSError):
        store.copy_daily(again=True)


def repair_store(path: Path) -> None:
    """Restore the last daily copy of a damaged store, regardless of its size."""
    from base.stores import restore_last_copy  # noqa: PLC0415 - few stores are damaged

    with translate_session_errors():
        restore_last_copy(path, WAIT_S)


def list_notices(config: Config) -> tuple[str, ...]:
    """List notices about damage to the project's store and the user's own."""
    from base.stores import describe_damage  # noqa: PLC0415 - hooks do not need it

    own = (config.sessions_file, find_users_store(config))
    return tuple(chain.from_iterable(map(describe_damage, own)))


def forget_all(config: Config, *, pinned: bool) -> list[str]:
    """Permanently delete all sessions of the project, pinned ones only with `pinned`; return the
    deleted IDs. The user's own sessions are kept."""
    with open_sessions(config) as store:
        with store.database.reading() as db:
            rows = db.execute("SELECT id FROM session WHERE NOT pinned OR ?", (pinned,)).fetchall()
        return forget_sessions(config, store, [str(row[0]) for row in rows])


def maintain_stores(config: Config, *, is_imported: bool = False) -> tuple[str, ...]:
    """Copy the project's store and the user's own once a day, and after an import; delete sessions
    that are too old or over the quota. Return notices for the user."""
    from ctxmode.operations.session_tracking import maintain  # noqa: PLC0415 - loads the index

    notices: list[str] = []
    for path in list_stores(config):
        # If the user's own store cannot be maintained now, the next call does it.
        is_own = path == config.sessions_file
        may_fail = nullcontext() if is_own else suppress(ContextModeError)
        with may_fail, open_to_write(config, path) as store:
            if is_imported:
                copy_again(store)
            notices += maintain(config, store, None)
    return tuple(notices)


def _forget_turns(config: Config, store: SessionStore, gone: list[str]) -> None:
    if not gone:
        return
    from ctxmode.operations.session_search import forget_indexed  # noqa: PLC0415 - loads the index

    forget_indexed(config, Path(store.database.path), gone)
