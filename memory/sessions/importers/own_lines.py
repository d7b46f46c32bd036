"""Own form as lines, one JSON object each, for agents that write them as they work.

A line with `"type": "session"` begins a session, or adds to it: `id`, `agent`, `title`,
`working_directory` and the other fields of an exported session. Every other line is a message, as
in `messages.json`; the minimum is `{"role": "user", "content": "…"}`. A message with an `id` is
recognised when repeated. `session` names the session of a message, if several are written at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memory.sessions.importers.importer import Importer, State
from memory.sessions.importers.own import (
    digest_value,
    message_record,
    never_found,
    no_roots,
    session_record,
    tokens_of,
)
from memory.sessions.importers.untrusted_json import text
from memory.sessions.records import Record, SessionRecord


def parse_line(value: Mapping[str, Any], state: State) -> Iterator[Record]:
    """Read one line.

    Raises:
        ValueError: it is neither a session nor a message.
    """
    if value.get("type") == "session":
        session = session_record(value)
        if session is None:
            raise ValueError("a session without an id")
        state["of"] = session.id
        yield session
        return
    number = state["lines"] = state.get("lines", 0) + 1
    key = f"{text(state.get('run'))}{number}:{digest_value(value)}"
    message = message_record(value, f"{value.get('sequence')}", key=key)
    if message is None:
        raise ValueError("no message")
    if (of := text(value.get("session"))) and of != state.get("of"):
        state["of"] = of
        yield SessionRecord(of)
    yield message
    if tokens := tokens_of(value, message):
        yield tokens


IMPORTER = Importer("own", "Lines of messages", no_roots, never_found, parse_line)
