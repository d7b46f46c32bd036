"""Export of a session: `messages.json`, which can be imported, and Markdown.

Messages keep their keys, so that importing a known session changes nothing. All texts are cleaned:
they come from the store, or from the host's transcript.

Texts in Markdown are untrusted: lines are escaped, and longer texts fenced by more backticks than
they contain, so that none becomes a link, a heading or HTML.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from memory.sessions.importers.own import FORMAT, VERSION
from memory.sessions.model import Message, Session
from memory.sessions.preparing import key_of

LINE_CHARS = 500
# The characters of Markdown, its tables and its bare links; and those that begin a block.
_SPECIAL = re.compile(
    r"([\\`*_\[\]<>|~&!$@]|:(?=//)|(?<=\bwww)\.|(?<=\bmailto):|(?<=\bxmpp):)", re.IGNORECASE
)
_BEGINNING = re.compile(r"(\d{0,9})([#+\-=:.)])")
_SPACE = re.compile(r"\s+")
_FENCES = re.compile(r"`{3,}")
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
FINDINGS: Mapping[str, str] = {
    "decisions": "Decisions",
    "contacts": "Contacts",
    "learnings": "Learnings",
    "action_items": "Action items",
}

_OF_THIS_MACHINE = ("owner", "pinned")
_TOKENS = ("input", "output", "cache_read", "cache_write", "reasoning")

_Keys = tuple[bytes, bytes, bytes | None]
"""The keys of a message: its own, that of its group, and that of its call."""


def escape(text: str) -> str:
    """Return a text as one line of Markdown that displays it without effects."""
    line = _SPACE.sub(" ", _UNSEEN.sub("", text)).strip()
    cut = line if len(line) <= LINE_CHARS else line[: LINE_CHARS - 1] + "…"
    begun = _BEGINNING.match(cut)
    rest = _SPECIAL.sub(r"\\\1", cut[begun.end() :] if begun else cut)
    return f"{begun[1]}\\{begun[2]}{rest}" if begun else rest


def fence(text: str) -> str:
    """Return a text as a block that displays it unchanged."""
    plain = _UNSEEN.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    longest = max((len(found) for found in _FENCES.findall(plain)), default=2)
    mark = "`" * (longest + 1)
    return f"{mark}text\n{plain}\n{mark}"


def write_summary(session: Session, compactions: Sequence[Message]) -> str:
    """Write `summary.md`: the facts, the summary and other findings, files, compactions."""
    findings = session.metadata.get("findings")
    parts = [f"# {escape(session.title) or 'Untitled session'}", _facts(session)]
    parts += ["## Summary", fence(session.summary) if session.summary else "No summary yet."]
    if isinstance(findings, Mapping):
        parts += _findings(findings)
    if any(session.files.values()):
        parts.append("## Files")
        parts += [
            f"{action.capitalize()}:\n\n{_items(paths)}"
            for action, paths in session.files.items()
            if paths
        ]
    if compactions:
        parts.append("## Compactions")
        parts += [_compaction(one) for one in compactions]
    return "\n\n".join(parts) + "\n"


def _facts(session: Session) -> str:
    """List the recorded facts of a session."""
    rows = (
        ("Session", session.id),
        ("Agent", " ".join(filter(None, (session.agent, session.agent_version)))),
        ("Status", session.status),
        ("Folder", session.working_directory),
        ("Branch", session.git_branch),
        ("Started", _time(session.started_at)),
        ("Last activity", _time(session.last_at)),
        ("Ended", _time(session.ended_at)),
        ("Messages", str(session.messages)),
        ("Tool calls", str(session.tool_calls)),
        ("Input tokens", _count(session.input_tokens)),
        ("Output tokens", _count(session.output_tokens)),
        ("Compactions", str(session.compactions)),
        ("Source", session.source_path),
    )
    return "\n".join(f"- {name}: {escape(value)}" for name, value in rows if value)


def _findings(findings: Mapping[str, Any]) -> Iterator[str]:
    details = findings.get("details")
    if isinstance(details, str) and details:
        yield f"## Details\n\n{fence(details)}"
    for name, title in FINDINGS.items():
        items = findings.get(name)
        if isinstance(items, list) and items:
            yield f"## {title}\n\n{_items([str(one) for one in items])}"


def _items(items: Sequence[str]) -> str:
    return "\n".join(f"- {escape(one)}" for one in items)


def _compaction(message: Message) -> str:
    sizes = [_count(one) for one in (message.tokens_before, message.tokens_after) if one]
    told = f"Message {message.sequence}" + (f", tokens {' → '.join(sizes)}" if sizes else "")
    return f"{told}\n\n{fence(message.compaction_summary)}" if message.compaction_summary else told


def write_transcript(session: Session, messages: Sequence[Message]) -> Iterator[str]:
    """Yield the transcript in parts: all messages in order."""
    yield f"# {escape(session.title) or 'Untitled session'}\n\n{_facts(session)}\n"
    for message in messages:
        who = message.role.replace("_", " ")
        tool = f" {escape(message.tool_name)}" if message.tool_name else ""
        failed = " (failed)" if message.is_error else ""
        yield f"\n## {message.sequence}.{message.step} {who}{tool}{failed}\n\n"
        yield "".join(f"{part}\n" for part in _said(message))


def _said(message: Message) -> Iterator[str]:
    text = message.compaction_summary if message.is_compaction else message.content
    if message.role == "tool_call" and message.tool_params is not None:
        text = json.dumps(message.tool_params, indent=1, ensure_ascii=False)
    if text:
        yield fence(text)
    if message.images:
        yield f"({message.images} pictures, not stored)"
    if message.is_cut:
        yield f"(not all of {message.content_bytes} bytes)"


def _time(at: float | None) -> str:
    return "" if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _count(number: int | None) -> str:
    return "not recorded" if number is None else f"{number:,}"


Row = dict[str, Any]
"""A JSON object."""


def build_export(
    db: sqlite3.Connection, session: Session, messages: Sequence[Message]
) -> tuple[Row, list[Row], list[Row]]:
    """Gather the export of a session whose messages were read with their texts: its data, the
    tokens of each response, and the messages."""
    keys = _read_keys(db, session.id)
    usage = _read_usage(db, session.id)
    costs_of: dict[str, list[Row]] = {}
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
    shown, turn = list[Row](), 0
    for message in messages:
        known = keys[message.sequence, message.step]
        _, group, call = known
        costs = costs_of.pop(group.hex(), [])  # only once, with the first step
        is_prompt = message.role == "user" and message.turn > turn
        turn = max(turn, message.turn) if message.role == "user" else turn
        is_denied = call is not None and key_of(call.hex(), "denied") in denied
        shown.append(
            _show_message(message, known)
            | {
                "is_prompt": is_prompt,
                "is_denied": is_denied and message.role == "tool_result",
            }
            | {f"{name}_tokens": _sum(costs, name) for name in _TOKENS}
        )
    return told, usage, shown


def _read_keys(db: sqlite3.Connection, session_id: str) -> dict[tuple[int, int], _Keys]:
    rows = db.execute(
        "SELECT sequence, step, source_key, group_key, call_key FROM message WHERE session_id = ?",
        (session_id,),
    )
    return {(sequence, step): (key, group, call) for sequence, step, key, group, call in rows}


def _read_usage(db: sqlite3.Connection, session_id: str) -> list[Row]:
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


def _show_message(message: Message, known: _Keys) -> Row:
    shown = asdict(message)
    shown["truncated"] = shown.pop("is_cut")
    key, group, call = known
    shown["key"], shown["group"] = key.hex(), group.hex()
    shown["call"] = call.hex() if call else None
    return shown


def _sum(costs: Sequence[Row], name: str) -> int | None:
    known = [one[name] for one in costs if one[name] is not None]
    return sum(known) if known else None


def write_export(session: Row, usage: Sequence[Row], messages: Sequence[Row]) -> Iterator[bytes]:
    """Yield the file in parts, one line for each message, so that a reader can stream it."""
    head = {"format": FORMAT, "version": VERSION, "session": session}
    text = json.dumps(head, indent=1, ensure_ascii=False).removesuffix("\n}")
    yield f'{text},\n "usage": ['.encode(errors="replace")
    yield from _list(usage)
    yield b'],\n "messages": ['
    yield from _list(messages)
    yield b"]\n}\n"


def _list(items: Sequence[Row]) -> Iterator[bytes]:
    for number, item in enumerate(items):
        lead = ",\n" if number else "\n"
        yield f"{lead}{json.dumps(item, ensure_ascii=False)}".encode(errors="replace")
    if items:
        yield b"\n"
