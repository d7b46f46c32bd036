"""A session as `messages.json`, our own form, from which it can be imported again.

Messages keep their keys, so that an import where the session is already changes nothing. All texts
have passed the gate: they come from the store, or through it from the host's transcript.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from memory.sessions.importers.own import FORMAT, VERSION
from memory.sessions.model import Message, Session
from memory.sessions.preparing import digest

_OF_THIS_MACHINE = ("owner", "pinned")
_TOKENS = ("input", "output", "cache_read", "cache_write", "reasoning")


class Export(NamedTuple):
    """What an exported file holds. `usage` has the tokens of each response."""

    session: dict[str, Any]
    usage: list[dict[str, Any]]
    messages: list[dict[str, Any]]

    @property
    def truncated(self) -> int:
        """Count the messages of which not all of the text is there."""
        return sum(message["truncated"] for message in self.messages)


class _Keys(NamedTuple):
    """By what a message is known."""

    key: bytes
    group: bytes
    call: bytes | None


def build_export(db: sqlite3.Connection, session: Session, messages: Sequence[Message]) -> Export:
    """Gather what is exported of a session, whose messages were read with their texts."""
    keys = _read_keys(db, session.id)
    usage = _read_usage(db, session.id)
    costs_of: dict[str, list[dict[str, Any]]] = {}
    for one in usage:
        costs_of.setdefault(str(one["group"]), []).append(one)
    denied = {
        bytes(key)
        for (key,) in db.execute(
            "SELECT key FROM event WHERE session_id = ? AND category = 'denied'", (session.id,)
        )
    }
    by_hand = db.execute("SELECT status FROM session WHERE id = ?", (session.id,)).fetchone()[0]
    told = {name: one for name, one in asdict(session).items() if name not in _OF_THIS_MACHINE}
    told["status_by_hand"] = by_hand
    shown, turn = list[dict[str, Any]](), 0
    for message in messages:
        known = keys[message.sequence, message.step]
        costs = costs_of.pop(known.group.hex(), [])  # told once, with the first step
        is_prompt = message.role == "user" and message.turn > turn
        turn = max(turn, message.turn) if message.role == "user" else turn
        is_denied = known.call is not None and digest(known.call.hex(), "denied") in denied
        shown.append(
            _show_message(message, known)
            | {
                "is_prompt": is_prompt,
                "is_denied": is_denied and message.role == "tool_result",
            }
            | {f"{name}_tokens": _sum(costs, name) for name in _TOKENS}
        )
    return Export(told, usage, shown)


def _read_keys(db: sqlite3.Connection, session_id: str) -> dict[tuple[int, int], _Keys]:
    rows = db.execute(
        "SELECT sequence, step, source_key, group_key, call_key FROM message WHERE session_id = ?",
        (session_id,),
    )
    return {(sequence, step): _Keys(*found) for sequence, step, *found in rows}


def _read_usage(db: sqlite3.Connection, session_id: str) -> list[dict[str, Any]]:
    rows = db.execute(
        "SELECT response_key, group_key, model, at, input, output, cache_read, cache_write,"
        " reasoning FROM usage WHERE session_id = ? ORDER BY at, response_key",
        (session_id,),
    )
    return [
        {
            "key": key.hex(),
            "group": group.hex() if group else None,
            "model": model,
            "at": at,
            **dict(zip(_TOKENS, counts, strict=True)),
        }
        for key, group, model, at, *counts in rows
    ]


def _show_message(message: Message, known: _Keys) -> dict[str, Any]:
    shown = asdict(message)
    shown["truncated"] = shown.pop("is_cut")
    shown["key"], shown["group"] = known.key.hex(), known.group.hex()
    shown["call"] = known.call.hex() if known.call else None
    return shown


def _sum(costs: Sequence[dict[str, Any]], name: str) -> int | None:
    known = [one[name] for one in costs if one[name] is not None]
    return sum(known) if known else None


def write_export(export: Export) -> Iterator[bytes]:
    """Yield the file in parts: a line for each message, so that it can be read one at a time."""
    head = {"format": FORMAT, "version": VERSION, "session": export.session}
    text = json.dumps(head, indent=1, ensure_ascii=False).removesuffix("\n}")
    yield f'{text},\n "usage": ['.encode(errors="replace")
    yield from _list(export.usage)
    yield b'],\n "messages": ['
    yield from _list(export.messages)
    yield b"]\n}\n"


def _list(items: Sequence[dict[str, Any]]) -> Iterator[bytes]:
    for number, item in enumerate(items):
        lead = ",\n" if number else "\n"
        yield f"{lead}{json.dumps(item, ensure_ascii=False)}".encode(errors="replace")
    if items:
        yield b"\n"
