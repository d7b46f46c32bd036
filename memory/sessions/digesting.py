"""A session as a text of limited size: for a summary, for another agent, or for distilling.

All functions are pure: the same session and messages give the same text. The limits for distilling
are Contexo's: long texts are cut, and the oldest of too many turns dropped.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from memory.sessions.events import COMMANDS, Event
from memory.sessions.model import Message, Session
from memory.texts import (
    ANSWER_BYTES_MAX,
    BUFFER_CAP,
    TURNS_DROPPED,
    TURNS_MAX,
    USER_BYTES_MAX,
    cut_bytes,
)

RESUME_BYTES = 8192
RESUME_BYTES_MIN = 512
MESSAGE_BYTES_MAX = 2048
"""Limit for one message, so that a long one leaves room for others."""

HEAD_SHARE, SUMMARY_SHARE = 0.25, 0.5
_MARK_BYTES = 80

DIGEST_BYTES_MAX = 32_768
ANSWERS_SHOWN = 10
LAST_BYTES_MAX = 1024
SHARES = {
    "Requests": 6144,
    "The user's words": 2048,
    "Summaries of compactions": 8192,
    "Files": 3072,
    "Commands": 3072,
    "Errors": 3072,
    "Last answers": 6144,
}
"""Limits in bytes for each part; their sum leaves room for the head."""


def capture_turns(messages: Iterable[Message], prompts: Mapping[int, str]) -> list[dict[str, Any]]:
    """Gather a session's ordered messages into one record per turn, with Contexo's names and
    without empty fields. A mark for dropped turns comes first. `prompts` has the requests by turn
    number, for messages without text. Messages before the first prompt, and turns without text or
    tool, are omitted."""
    by_turn: dict[int, list[Message]] = {}
    for message in messages:
        if message.turn and not message.is_compaction:
            by_turn.setdefault(message.turn, []).append(message)
    turns = (
        _gather(number, listed, prompts.get(number, ""))
        for number, listed in sorted(by_turn.items())
    )
    told = [turn for turn in turns if turn.keys() & {"user", "assistant", "tools"}]
    if dropped := _count_dropped(len(told)):
        return [{"truncated": {"dropped": dropped, "reason": BUFFER_CAP}}, *told[dropped:]]
    return told


def _count_dropped(count: int) -> int:
    """Count the dropped turns as if turns were added one by one: a hundred at each excess."""
    excess = max(count - TURNS_MAX, 0)
    return -(-excess // TURNS_DROPPED) * TURNS_DROPPED


def _gather(number: int, messages: list[Message], prompt: str) -> dict[str, Any]:
    """Build the record of a turn. Its time is its beginning; its tools are in the order of their
    first calls."""
    said = {
        role: "\n".join(one.content for one in messages if one.role == role and one.content)
        for role in ("user", "assistant")
    }
    calls = (one.tool_name for one in messages if one.role == "tool_call" and one.tool_name)
    at = next((one.at for one in messages if one.at is not None), None)
    record = {
        "ts": None if at is None else _write_time(at),
        "turn": number,
        "user": cut_bytes(said["user"] or prompt, USER_BYTES_MAX),
        "assistant": cut_bytes(said["assistant"], ANSWER_BYTES_MAX),
        "tools": list(dict.fromkeys(calls)),
    }
    return {name: value for name, value in record.items() if value}


def _write_time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")


def choose_start(compactions: Sequence[Message], *, first: int = 0, compaction: int = 0) -> int:
    """Return the sequence number to begin at: the given one, that of the compaction with a given
    number (1 is the first), that of the last compaction, or 1."""
    if first:
        return first
    if compaction:
        return compactions[len(compactions) - compaction].sequence
    return compactions[0].sequence if compactions else 1


def build_resume(
    session: Session, summary: str, messages: Sequence[Message], bytes_max: int = RESUME_BYTES
) -> str:
    """Build the text: the session's data, the compaction's summary, then messages. If not all fit,
    the newest stay, and a line has the number of omitted ones."""
    texts = [cut_bytes(_head(session), int(bytes_max * HEAD_SHARE))]
    if summary:
        texts.append(cut_bytes(f"Summary:\n{summary}", int(bytes_max * SUMMARY_SHARE)))
    left = bytes_max - sum(len(text.encode()) + 2 for text in texts) - _MARK_BYTES
    shown: list[str] = []
    listed = [message for message in messages if not message.is_compaction]
    for message in reversed(listed):
        text = cut_bytes(describe_message(message), MESSAGE_BYTES_MAX)
        left -= len(text.encode()) + 1
        if left < 0:
            break
        shown.append(text)
    if missing := len(listed) - len(shown):
        texts.append(f"[… {missing} earlier messages left out …]")
    return "\n\n".join([*texts, "\n".join(reversed(shown))]).rstrip() + "\n"


def describe_message(message: Message) -> str:
    """Write one step of a message: its role, its tool, and its text if stored."""
    tool = f" {message.tool_name}" if message.tool_name else ""
    failed = " failed" if message.is_error else ""
    text = message.content
    if text is None and message.tool_params is not None:
        text = json.dumps(message.tool_params, ensure_ascii=False)
    if text is None:
        text = f"({message.content_bytes} bytes, not stored)"
    return f"[{message.sequence}.{message.step}] {message.role}{tool}{failed}: {text}"


def _head(session: Session) -> str:
    rows = (
        ("Session", session.id),
        ("Title", session.title),
        ("Folder", session.working_directory),
        ("Branch", session.git_branch),
        ("Status", session.status),
        ("Messages", str(session.messages)),
        ("Compactions", str(session.compactions)),
    )
    return "\n".join(f"{name}: {value}" for name, value in rows if value)


def build_digest(
    session: Session,
    events: Sequence[Event],
    compactions: Sequence[Message],
    messages: Sequence[Message],
) -> str:
    """Build the text; if not all of a part fits, its latest lines stay."""
    answers = [m.content for m in messages if m.role == "assistant" and m.content]
    files = {event.text: None for event in events if event.category in ("file_edit", "file_read")}
    parts: dict[str, Iterable[str]] = {
        "Requests": (e.text for e in events if e.category == "prompt"),
        "The user's words": (
            e.text for e in events if e.category in ("constraint", "decision", "rejected")
        ),
        "Summaries of compactions": (
            m.compaction_summary for m in reversed(compactions) if m.compaction_summary
        ),
        "Files": files,
        "Commands": (f"{e.text} ({e.state})" if e.state else e.text
                     for e in events if e.category in COMMANDS),
        "Errors": (f"{e.target}: {e.text} ({e.state})" for e in events if e.category == "error"),
        "Last answers": (cut_bytes(text, LAST_BYTES_MAX) for text in answers[-ANSWERS_SHOWN:]),
    }  # fmt: skip
    head = f"Session {session.id}: {session.title}\nFolder {session.working_directory}"
    texts = [cut_bytes(head, 1024)]
    texts += [_part(title, list(lines)) for title, lines in parts.items()]
    return cut_bytes("\n\n".join(filter(None, texts)), DIGEST_BYTES_MAX - 1) + "\n"


def _part(title: str, lines: Sequence[str]) -> str:
    left, shown = SHARES[title] - 64, list[str]()
    for line in reversed(lines):
        cut = cut_bytes(line, left - 3) if not shown else line  # at least a part of the latest
        left -= len(cut.encode()) + 3
        if left < 0:
            shown.append(f"[… {len(lines) - len(shown)} earlier left out …]")
            break
        shown.append(f"- {cut}")
    return "\n".join((f"{title}:", *reversed(shown))) if shown else ""
