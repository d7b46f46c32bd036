"""`ctx_session`: give back what happened in a session, and keep summaries of sessions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import trio

from ctxmode.errors import ContextModeError, UsageError
from ctxmode.hosts.agents import name_agent
from ctxmode.mcp.reply import Reply
from ctxmode.mcp.tool import CallContext, Given
from ctxmode.operations import session_answers as answers
from ctxmode.operations.library import Library
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
from ctxmode.render import fact_texts
from memory.sessions import (
    DIGEST_BYTES_MAX,
    RESUME_BYTES,
    SNAPSHOT_BYTES_MAX,
    Session,
    SessionStore,
)
from memory.texts import cut_bytes

NOTHING_YET = "Nothing happened in it yet."


async def ctx_session(call: CallContext, given: Given) -> Reply:
    if (given.about == "summarize") != (given.text is not None):
        raise UsageError("about summarize and text need each other", "Give both or none.")
    agent = name_agent(call.client.name)
    await call.app.read(lambda library: refuse_if_off(library.config))
    # What is changed meanwhile is waited for no longer than what is new may be read.
    with trio.move_on_after(2 * CATCH_UP_S):
        await call.app.write(lambda library: catch_up(library.config, call.app.calls, agent))
    owners = list_owners(call.client.holder)
    own = call.app.calls.find_session(agent, call.client.owner)
    answer = partial(_answer, given=given, agent=agent, owners=owners, own=own)
    return await call.app.read(partial(_tell_damage, answer=answer))


def _tell_damage(library: Library, answer: Callable[[Library], Reply]) -> Reply:
    """Answer, and say what became of a damaged store."""
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
            return _reply(fact_texts.queue_text(()), ())
        raise UsageError("no session is kept yet", NONE_KEPT)
    with open_sessions(library.config) as store:
        if is_queue:
            waiting = _clean(store, answers.list_waiting(store, owners))
            return _reply(fact_texts.queue_text(waiting), waiting[: fact_texts.SHOWN_MAX])
        chosen = _clean(store, choose_sessions(store, wanted, agent, owners, own=own))
        if len(chosen) > 1:
            return _reply(fact_texts.choice_text(chosen, given.about), chosen)
        (session,) = chosen
        if given.text is not None:
            from ctxmode.operations.session_facts import keep_summary  # noqa: PLC0415 - few do

            summary = answers.parse_summary(given.text)
            notices = keep_summary(library.config, store, session, summary)
            done = f"{session.id} is summarised and archived."
            return _reply("\n".join((done, *notices)), chosen)
        return _reply(_read(store, session, given.about), chosen)


def _clean(store: SessionStore, sessions: Sequence[Session]) -> list[Session]:
    """Pass titles through the gate again: what is shown has no secret and no control character,
    also where an older program stored it."""
    return [replace(one, title=store.clean(one.title)) for one in sessions]


def _read(store: SessionStore, session: Session, about: str) -> str:
    unread = count_unread(store, session)
    end = fact_texts.behind_text(unread) if unread else ""
    if about == "snapshot":
        room = _measure_room(SNAPSHOT_BYTES_MAX, end)
        text = store.build_snapshot(session.id, bytes_max=room) or NOTHING_YET
    elif about == "resume":
        room = _measure_room(RESUME_BYTES, end)
        text = answers.read_resume(store, session, bytes_max=room)[1]
    else:
        end = "\n".join(filter(None, (fact_texts.keep_text(session), end)))
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
