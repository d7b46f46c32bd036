"""Answers about a session, for the command line and MCP: texts, resume, digest, summary."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby

from base.wording import inflect
from ctxmode.errors import UsageError
from ctxmode.hosts.registry import find_importer
from memory.sessions import (
    RESUME_BYTES,
    Message,
    Session,
    SessionStore,
    Summary,
    build_digest,
    build_resume,
    choose_start,
    describe_message,
    read_events,
    reading,
)
from memory.texts import cut_bytes

SUMMARY_BYTES_MAX = 1 << 20
_LISTS = ("decisions", "contacts", "learnings", "action_items")


def read_texts(store: SessionStore, session: Session) -> list[Message]:
    """Read the messages, with the texts that the store or the host's transcript has."""
    return store.read_full_messages(find_importer, session)


def read_resume(
    store: SessionStore,
    session: Session,
    *,
    first: int = 0,
    compaction: int = 0,
    bytes_max: int = RESUME_BYTES,
) -> tuple[int, str]:
    """Build the text that another agent needs to continue; return its first message, and the text.
    Raise UsageError if the compaction does not exist."""
    with store.database.reading() as db:
        points = reading.read_compactions(db, session.id)
    if compaction > len(points):
        has = inflect(len(points), "compaction")
        raise UsageError(f"no compaction {compaction}", f"The session has {has}.")
    first = choose_start(points, first=first, compaction=compaction)
    messages = [one for one in read_texts(store, session) if one.sequence >= first]
    at = next((point for point in points if point.sequence <= first), None)
    summary = (at and at.compaction_summary) or ""
    return first, build_resume(session, summary, messages, bytes_max)


def read_digest(store: SessionStore, session: Session) -> str:
    """Build the digest of a session, for writing a summary."""
    with store.database.reading() as db:
        events = read_events(db, session.id)
        compactions = reading.read_compactions(db, session.id)
    return build_digest(session, events, compactions, read_texts(store, session))


def read_part(
    store: SessionStore, session: Session, first: int, last: int | None, bytes_max: int
) -> tuple[str, int, int]:
    """Read messages between two sequence numbers, up to `bytes_max`. Messages are whole, except a
    first one that is too large. Return their text, the first message that is left, and how many are
    left; 0 if none."""
    chosen = [
        one
        for one in read_texts(store, session)
        if one.sequence >= first and (last is None or one.sequence <= last)
    ]
    by_sequence = groupby(chosen, key=lambda one: one.sequence)
    texts = [(number, "\n".join(map(_describe, steps))) for number, steps in by_sequence]
    shown, size = list[str](), 0
    for number, text in texts:
        size += len(text.encode()) + 1
        if size > bytes_max and shown:
            return "\n".join(shown), number, len(texts) - len(shown)
        shown.append(cut_bytes(text, bytes_max))
    return "\n".join(shown), 0, 0


def _describe(message: Message) -> str:
    """Write a step of a message, with the summary of a compaction."""
    text = describe_message(message)
    return f"{text}\n{message.compaction_summary}" if message.compaction_summary else text


def awaits_summary(session: Session) -> bool:
    """Return whether a session is completed and has no summary yet."""
    return (
        session.status == "completed"
        and not session.summary
        and session.relation != "subagent"
        and session.messages > 0
    )


def list_waiting(store: SessionStore, owners: Sequence[str] = ()) -> list[Session]:
    """List the sessions of a store that await a summary, latest first."""
    with store.database.reading() as db:
        found = reading.list_sessions(db, status="completed", limit=None, owners=owners)
    return [session for session in found if awaits_summary(session)]


def parse_summary(text: str) -> Summary:
    """Read a summary: a JSON object with its fields, or plain text. Raise UsageError if it is empty
    or too long, or a field has another form."""
    if len(text.encode("utf-8", "replace")) > SUMMARY_BYTES_MAX:
        raise UsageError("the summary is too large", "Shorten it to 1 MiB or less.")
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        given = {"summary": text}
    said = {name: given.get(name, "") for name in ("summary", "details")}
    lists = {name: given.get(name, []) for name in _LISTS}
    for name, value in said.items():
        if not isinstance(value, str):
            raise UsageError(f"{name} is not a string", "Give a string.")
    for name, items in lists.items():
        if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
            raise UsageError(f"{name} is not a list of strings", "Give a list of strings.")
    if not said["summary"].strip():
        raise UsageError("the summary is empty", 'Give text, or {"summary": "…"}.')
    items = {name: tuple(listed) for name, listed in lists.items()}
    return Summary(said["summary"], said["details"], *(items[name] for name in _LISTS))
