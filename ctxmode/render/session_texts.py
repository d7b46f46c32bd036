"""Sessions as the text that an agent reads: which there are, with the call that comes next."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import fields

from ctxmode.render.amounts import age, inflect, size
from ctxmode.render.highlight import one_line
from memory.sessions import Session, Summary

TITLE_CHARS = 80
SHOWN_MAX = 10
SUMMARY_FIELDS = tuple(field.name for field in fields(Summary))


def call_text(session: Session, about: str, **more: str) -> str:
    """Write the call of our tool about a session."""
    arguments = json.dumps({"id": session.id, "about": about, **more}, ensure_ascii=False)
    return f"ctx_session {arguments}"


def choice_text(sessions: Sequence[Session], about: str) -> str:
    """Write which sessions may be meant, of which none is guessed."""
    count = inflect(len(sessions), "session")
    lines = [
        f"{count} of {sessions[0].agent} are active. Give the id of yours:",
        *(f"- {_describe(one)}" for one in sessions[:SHOWN_MAX]),
        *_say_more(sessions),
    ]
    return "\n".join([*lines, f"Next: {call_text(sessions[0], about)}"])


def queue_text(waiting: Sequence[Session]) -> str:
    """Write which sessions await a summary, each with the call that reads what to summarise."""
    if not waiting:
        return "No session awaits a summary."
    awaits = "awaits" if len(waiting) == 1 else "await"
    head = f"{inflect(len(waiting), 'session')} {awaits} a summary, the latest first:"
    lines = [f"- {_describe(one)}\n  {call_text(one, 'digest')}" for one in waiting[:SHOWN_MAX]]
    return "\n".join(
        [head, *lines, *_say_more(waiting), f"Next: {call_text(waiting[0], 'digest')}"]
    )


def keep_text(session: Session) -> str:
    """Write the call that keeps a session's summary."""
    call = call_text(session, "summarize", text="…")
    return f"Keep its summary: {call}, as text or JSON with {', '.join(SUMMARY_FIELDS)}"


def behind_text(unread: int) -> str:
    """Write that not all of a transcript is read yet."""
    return f"[{size(unread)} of its transcript are not read yet: ask again in a few seconds]"


def _describe(session: Session) -> str:
    title = one_line(session.title)[:TITLE_CHARS] or "no title"
    when = "" if session.last_at is None else f", {age(time.time() - session.last_at)} ago"
    return f"{one_line(session.id)}: {title} ({inflect(session.messages, 'message')}{when})"


def _say_more(sessions: Sequence[Session]) -> list[str]:
    more = len(sessions) - SHOWN_MAX
    return [f"[{more} more]"] if more > 0 else []
