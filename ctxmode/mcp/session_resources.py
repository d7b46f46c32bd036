"""Agents' sessions as resources: their messages in order, as text with roles."""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from urllib.parse import quote

from ctxmode.config.locations import Config
from ctxmode.errors import ContextModeError
from ctxmode.operations.session_answers import read_part
from ctxmode.operations.session_choice import list_owners, refuse_if_off
from ctxmode.operations.sessions import find_session, list_notices, open_sessions
from ctxmode.render import redaction
from ctxmode.render.amounts import inflect
from ctxmode.render.highlight import one_line
from memory.sessions import Session, reading

LISTED_MAX = 20
READ_BYTES_MAX = 256 * 1024


def list_sessions(config: Config, holder: str) -> list[dict[str, Any]]:
    """Describe the latest sessions; none where they are off, or cannot be read."""
    with suppress(ContextModeError):
        refuse_if_off(config)
        if config.sessions_file.exists():
            with open_sessions(config) as store, store.database.reading() as db:
                owners = list_owners(holder)
                found = reading.list_sessions(db, limit=LISTED_MAX, owners=owners)
            return [_describe(session) for session in found]
    return []


def read(config: Config, wanted: str, given: tuple[int, int | None], holder: str) -> str:
    """Read the messages between two sequence numbers, both included. A last line says what is
    missing.

    Raises:
        ContextModeError: no session of that id is kept, or sessions are off.
    """
    first, last = given
    refuse_if_off(config)
    with open_sessions(config) as store:
        session = find_session(store, wanted, list_owners(holder))
        part = read_part(store, session, first, last, READ_BYTES_MAX)
        text = "\n".join((store.clean(part.text), *list_notices(config)))
    if not part.next_first:
        return text
    end = "" if last is None else f"&end={last}"
    more = f"{_uri(session)}?start={part.next_first}{end}"
    return f"{text}\n[{inflect(part.left, 'message')} more: {more}]"


def _uri(session: Session) -> str:
    return f"context-mode://session/{quote(session.id, safe=':/')}"


def _describe(session: Session) -> dict[str, Any]:
    title = one_line(session.title) or session.id
    return {
        "name": redaction.redact_answer(title, {})[0],
        "uri": _uri(session),
        "mimeType": "text/plain",
    }
