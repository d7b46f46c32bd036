"""A session in at most 32 KiB, for whoever writes its summary. Pure: the same gives the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memory.sessions.events import COMMANDS, Event
from memory.sessions.model import Message, Session
from memory.texts import cut_bytes

DIGEST_BYTES_MAX = 32_768
ANSWERS_SHOWN = 10
ANSWER_BYTES_MAX = 1024
SHARES = {
    "What was asked": 6144,
    "The user's words": 2048,
    "Summaries of compactions": 8192,
    "Files": 3072,
    "Commands": 3072,
    "Errors": 3072,
    "Last answers": 6144,
}
"""Bytes that each part may take; together less than the whole, with room for the head."""


def build_digest(
    session: Session,
    events: Sequence[Event],
    compactions: Sequence[Message],
    messages: Sequence[Message],
) -> str:
    """Build the text; of each part the latest stays where not all finds room."""
    answers = [m.content for m in messages if m.role == "assistant" and m.content]
    files = {event.text: None for event in events if event.category in ("file_edit", "file_read")}
    parts: dict[str, Iterable[str]] = {
        "What was asked": (e.text for e in events if e.category == "prompt"),
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
        "Last answers": (cut_bytes(text, ANSWER_BYTES_MAX) for text in answers[-ANSWERS_SHOWN:]),
    }  # fmt: skip
    head = f"Session {session.id}: {session.title}\nFolder {session.working_directory}"
    texts = [cut_bytes(head, 1024)]
    texts += [_part(title, list(lines)) for title, lines in parts.items()]
    return cut_bytes("\n\n".join(filter(None, texts)), DIGEST_BYTES_MAX - 1) + "\n"


def _part(title: str, lines: Sequence[str]) -> str:
    left, shown = SHARES[title] - 64, list[str]()
    for line in reversed(lines):
        cut = cut_bytes(line, left - 3) if not shown else line  # of the latest at least a part
        left -= len(cut.encode()) + 3
        if left < 0:
            shown.append(f"[… {len(lines) - len(shown)} earlier left out …]")
            break
        shown.append(f"- {cut}")
    return "\n".join((f"{title}:", *reversed(shown))) if shown else ""
