"""`ctx_session`: return the content of a session, and store summaries of sessions."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import partial

import trio

from base.wording import inflect
from ctxmode.errors import ContextModeError, UsageError
from ctxmode.hosts.registry import name_agent
from ctxmode.mcp.reply import Reply
from ctxmode.mcp.tool import CallContext, Given
from ctxmode.operations import session_answers as answers
from ctxmode.operations.library import Library
from ctxmode.operations.session_actions import NONE_WAITS, NOTHING_YET, store_summary
from ctxmode.operations.session_choice import (
    CATCH_UP_S,
    NONE_KEPT,
    catch_up,
    choose_sessions,
    count_unread,
    list_owners,
    refuse_if_off,
)
from ctxmode.operations.sessions import list_notices, open_sessions
from ctxmode.render.highlight import age, one_line, size
from memory.sessions import (
    DIGEST_BYTES_MAX,
    RESUME_BYTES,
    SNAPSHOT_BYTES_MAX,
    Session,
    SessionStore,
    Summary,
)
from memory.texts import cut_bytes

TITLE_CHARS = 80
SHOWN_MAX = 10
SUMMARY_FIELDS = ", ".join(field.name for field in fields(Summary))


async def ctx_session(call: CallContext, given: Given) -> Reply:
    if (given.about == "summarize") != (given.text is not None):
        raise UsageError("about summarize and text need each other", "Give both or none.")
    agent = name_agent(call.client.name)
    await call.app.read(lambda library: refuse_if_off(library.config))
    # Wait for other writers no longer than new entries may be read.
    with trio.move_on_after(2 * CATCH_UP_S):
        await call.app.write(lambda library: catch_up(library.config, call.app.calls, agent))
    owners = list_owners(call.client.holder)
    own = call.app.calls.find_session(agent, call.client.owner)
    answer = partial(_answer, given=given, agent=agent, owners=owners, own=own)
    return await call.app.read(partial(_tell_damage, answer=answer))


def _tell_damage(library: Library, answer: Callable[[Library], Reply]) -> Reply:
    """Answer, and add notices about a damaged store."""
    try:
        reply = answer(library)
    except ContextModeError as error:
        error.hint = "\n".join(filter(None, (error.hint, *list_notices(library.config))))
        raise
    notices = list_notices(library.config)
    if not notices:
        return reply
    text = "\n".join((reply.text, *notices))
    return Reply(text, {**reply.data, "text": text})


def _answer(library: Library, given: Given, agent: str, owners: tuple[str, ...], own: str) -> Reply:
    wanted = (given.id or "").strip()
    is_queue = given.about == "queue" and not wanted
    if not library.config.sessions_file.exists():
        if is_queue:
            return _reply(NONE_WAITS, ())
        raise UsageError("no session is stored yet", NONE_KEPT)
    with open_sessions(library.config) as store:
        if is_queue:
            waiting = _clean(store, answers.list_waiting(store, owners))
            return _reply(_write_queue(waiting), waiting[:SHOWN_MAX])
        chosen = _clean(store, choose_sessions(store, wanted, agent, owners, own=own))
        if len(chosen) > 1:
            return _reply(_write_choice(chosen, given.about), chosen)
        (session,) = chosen
        if given.text is not None:
            done = store_summary(library.config, store, session, given.text)
            return _reply("\n".join((done.text, *done.notices)), chosen)
        return _reply(_read(store, session, given.about), chosen)


def _clean(store: SessionStore, sessions: Sequence[Session]) -> list[Session]:
    """Redact titles again, so that they have no secrets or control characters, even if an older
    version stored them."""
    return [replace(one, title=store.clean(one.title)) for one in sessions]


def _read(store: SessionStore, session: Session, about: str) -> str:
    unread = count_unread(store, session)
    behind = f"[{size(unread)} of its transcript not read yet: ask again in a few seconds]"
    end = behind if unread else ""
    if about == "snapshot":
        room = _measure_room(SNAPSHOT_BYTES_MAX, end)
        text = store.build_snapshot(session.id, bytes_max=room) or NOTHING_YET
    elif about == "resume":
        room = _measure_room(RESUME_BYTES, end)
        text = answers.read_resume(store, session, bytes_max=room)[1]
    else:
        end = "\n".join(filter(None, (_write_keeping(session), end)))
        room = _measure_room(DIGEST_BYTES_MAX, end)
        text = answers.read_digest(store, session)
    text = cut_bytes(store.clean(text).removesuffix("\n"), room)
    return f"{text}\n{end}" if end else text


def _measure_room(bytes_max: int, end: str) -> int:
    return bytes_max - (len(end.encode()) + 1 if end else 0)


def _reply(text: str, sessions: Sequence[Session]) -> Reply:
    rows = [
        {"id": one.id, "title": one.title, "status": one.status, "last_at": one.last_at}
        for one in sessions
    ]
    return Reply(text, {"sessions": rows, "text": text})


def _write_choice(sessions: Sequence[Session], about: str) -> str:
    """List the sessions to choose from."""
    count = inflect(len(sessions), "session")
    head = f"{count} of {sessions[0].agent} are active. Give the id of your session:"
    return _write_list(head, sessions, list(map(_describe, sessions)), about)


def _write_queue(waiting: Sequence[Session]) -> str:
    """List the sessions that await a summary, each with the call that reads its digest."""
    if not waiting:
        return NONE_WAITS
    awaits = "awaits" if len(waiting) == 1 else "await"
    head = f"{inflect(len(waiting), 'session')} {awaits} a summary, latest first:"
    rows = [f"{_describe(one)}\n  {_write_call(one, 'digest')}" for one in waiting]
    return _write_list(head, waiting, rows, "digest")


def _write_list(head: str, sessions: Sequence[Session], rows: Sequence[str], about: str) -> str:
    lines = [head, *(f"- {row}" for row in rows[:SHOWN_MAX])]
    if len(rows) > SHOWN_MAX:
        lines.append(f"[{len(rows) - SHOWN_MAX} more]")
    return "\n".join([*lines, f"Next: {_write_call(sessions[0], about)}"])


def _describe(session: Session) -> str:
    title = one_line(session.title)[:TITLE_CHARS] or "no title"
    when = "" if session.last_at is None else f", {age(time.time() - session.last_at)} ago"
    return f"{one_line(session.id)}: {title} ({inflect(session.messages, 'message')}{when})"


def _write_keeping(session: Session) -> str:
    """Write the call that stores a session's summary."""
    call = _write_call(session, "summarize", text="…")
    return f"Store its summary: {call}, as text or JSON with {SUMMARY_FIELDS}"


def _write_call(session: Session, about: str, **more: str) -> str:
    """Write a call of `ctx_session` for a session."""
    arguments = json.dumps({"id": session.id, "about": about, **more}, ensure_ascii=False)
    return f"ctx_session {arguments}"
