"""What another agent needs to go on with a session, within a budget of bytes.

Pure: the same session and messages give the same text.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from memory.sessions.model import Message, Session
from memory.texts import cut_bytes

RESUME_BYTES = 8192
RESUME_BYTES_MIN = 512
MESSAGE_BYTES_MAX = 2048
"""Of one message, so that a long one leaves room for others."""

HEAD_SHARE, SUMMARY_SHARE = 0.25, 0.5
_MARK_BYTES = 80


def choose_start(compactions: Sequence[Message], *, first: int = 0, compaction: int = 0) -> int:
    """Return the sequence number to begin at: the one that is given, that of the compaction with
    this number (1 is the first), that of the last one, or 1."""
    if first:
        return first
    if compaction:
        return compactions[len(compactions) - compaction].sequence
    return compactions[0].sequence if compactions else 1


def build_resume(
    session: Session, summary: str, messages: Sequence[Message], bytes_max: int = RESUME_BYTES
) -> str:
    """Build the text: what is known of the session, the compaction's summary, then messages. Where
    not all find room the newest stay, and a line says how many were left out."""
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
    """Write one step of a message: who, with which tool, and its text as far as it is kept."""
    tool = f" {message.tool_name}" if message.tool_name else ""
    failed = " failed" if message.is_error else ""
    text = message.content
    if text is None and message.tool_params is not None:
        text = json.dumps(message.tool_params, ensure_ascii=False)
    if text is None:
        text = f"({message.content_bytes} bytes, not kept)"
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
