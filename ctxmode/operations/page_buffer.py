"""Turns that a push may have to distil, from the tracker or from buffers, and their capture."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Annotated

import msgspec

from base.secrets import find_secrets
from ctxmode.config.file_names import DRAFTS_FOLDER, is_captured
from ctxmode.config.locations import Config
from ctxmode.errors import ContextModeError
from ctxmode.operations.session_sources import find_oldest
from ctxmode.operations.session_store import open_session_store
from ctxmode.operations.session_tracking import list_known
from ctxmode.operations.sessions import find_ground, read_recording
from memory.errors import BadInputError, MemoryRoomError
from memory.gate import Gate
from memory.pages import (
    FRESH_S,
    Buffer,
    Buffers,
    Commit,
    Pages,
    TurnRecord,
    make_record,
)
from memory.sessions import SessionStore
from memory.texts import TURNS_MAX, unpack, write_time

IMPORT_S = 5.0
COMMITS_MAX = 1000
RECORD_BYTES_MAX = 4 << 20
_HOW = 'Give one object such as {"session": "id", "user": "…", "assistant": "…", "tools": []}.'


class HandedTurn(msgspec.Struct):
    """A turn sent by a client: question, answer and tools."""

    session: str | None = None
    session_id: str = ""
    turn: Annotated[int, msgspec.Meta(ge=0, lt=1 << 53)] = 0  # in order; 0 means the next one
    user: str = ""
    assistant: str = ""
    tools: tuple[str, ...] = ()
    ts: str = ""  # its time, as ISO 8601


def open_buffers(config: Config) -> Buffers:
    """Return the buffers of a project, even if it has none yet."""
    return Buffers(config.project / DRAFTS_FOLDER, find_secrets=find_secrets)


def find_buffer(
    config: Config, session: str, now: float, commits: Iterable[Commit] = ()
) -> Buffer | None:
    """Find turns that a push may have to distil: tracked turns of the session after its last
    distilled one, else a buffer. The trailers of `commits` list distilled turns.

    The tracker has texts only if the user stores messages; its transcripts are read first.
    """
    if session:
        try:
            found = _read_tracked(config, session, commits)
        except (ContextModeError, MemoryRoomError, OSError, sqlite3.Error):
            found = None  # a buffer is as good
        if found is not None and now - found.at < FRESH_S:
            return found
    return open_buffers(config).find(session, now)


def find_turns(config: Config, pages: Pages, session: str) -> Buffer | None:
    """Find turns that a push of a project's pages may have to distil."""
    commits = pages.repository.history("", COMMITS_MAX) if pages.repository.exists else []
    return find_buffer(config, session, pages.clock(), commits)


def _read_tracked(config: Config, session: str, commits: Iterable[Commit]) -> Buffer | None:
    recording = read_recording(config)
    if not (recording.messages and config.sessions_file.exists()):
        return None
    home, project = str(config.home), str(config.project)
    with open_session_store(config.sessions_file, project, home, keep_messages=True) as store:
        if not store.database.is_read_only:
            known = tuple(list_known(store, recording, home))
            ground, deadline = find_ground(config), time.monotonic() + IMPORT_S
            store.import_all(known, ground, since=find_oldest(config), deadline=deadline)
        return _build(store, session, tuple(commits))


def _build(store: SessionStore, session: str, commits: tuple[Commit, ...]) -> Buffer | None:
    with store.database.reading() as db:
        row = db.execute(
            "SELECT id, last_at FROM session WHERE id = ? OR host_id = ? ORDER BY last_at DESC",
            (session, session),
        ).fetchone()
        if row is None:
            return None
        upto = find_distilled(commits, row[0])
        turns = tuple(_read_turns(db, row[0], upto))
    if not any(one.assistant for one in turns):
        return None
    kept = turns[-TURNS_MAX:]
    dropped = len(turns) - len(kept)
    return Buffer(row[0], kept, dropped, row[1] or 0.0, None, f"{row[0]}:{kept[-1].turn}")


def find_distilled(commits: Iterable[Commit], session_id: str) -> int:
    """Return the last turn of a tracked session that the trailers of commits name; 0 if none."""
    numbers = [0]
    for commit in commits:
        session, _, number = commit.buffer.rpartition(":")
        if session == session_id and number.isascii() and number.isdigit() and len(number) < 16:
            numbers.append(int(number))
    return max(numbers)


def _read_turns(db: sqlite3.Connection, session_id: str, upto: int) -> Iterator[TurnRecord]:
    """Read the turns after `upto`; of several answers use the last, like hosts do."""
    rows = db.execute(
        "SELECT turn, role, content, tool_name, at FROM message WHERE session_id = ? AND turn > ?"
        " AND role IN ('user', 'assistant', 'tool_call') ORDER BY turn, sequence, step",
        (session_id, upto),
    )
    gate = Gate(find_secrets)
    for number, steps in groupby(rows, key=lambda row: int(row[0])):
        user, answer, tools, at = list[str](), "", list[str](), 0.0
        for _, role, content, tool, said_at in steps:
            at = at or said_at or 0.0
            text = unpack(content) or ""
            if role == "user" and text:
                user.append(text)
            elif role == "assistant":
                answer = text or answer
            elif tool:
                tools.append(tool)
        ts = write_time(at) if at else ""
        record = make_record(
            gate, turn=number, ts=ts, user="\n".join(user), assistant=answer, tools=tools
        )
        if record.user or record.assistant or record.tools:
            yield record


def capture_turn(config: Config, data: bytes, environ: Mapping[str, str] = os.environ) -> bool:
    """Add a turn from a JSON object, if turns are captured; return whether it was written.

    Raises:
        BadInputError: the object is invalid.
        ContextModeError: the buffer cannot be written.
    """
    turn = _read_turn(data)
    if not is_captured(str(config.project), str(config.data_dir), environ):
        return False
    try:
        return open_buffers(config).append(
            turn.session or turn.session_id,
            turn=turn.turn,
            user=turn.user,
            assistant=turn.assistant,
            tools=turn.tools,
            ts=turn.ts[:40],
        )
    except OSError as error:
        raise ContextModeError(
            f"cannot store the turn: {error.strerror or error}",
            f"Check {config.project / DRAFTS_FOLDER}: it must contain no link.",
        ) from error


def _read_turn(data: bytes) -> HandedTurn:
    if len(data) > RECORD_BYTES_MAX:
        raise BadInputError("the record is larger than 4 MiB", _HOW)
    try:
        turn = msgspec.json.decode(data, type=HandedTurn)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadInputError(f"invalid record: {error}", _HOW) from None
    if not (turn.session or turn.session_id):
        raise BadInputError("the record has no session", _HOW)
    return turn
