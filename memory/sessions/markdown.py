"""A session as Markdown: its summary, and its transcript. Pure.

All text is hostile: what stands in a line is escaped, longer texts are fenced by more backticks
than they hold, so that none becomes a link, a heading or HTML.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from memory.sessions.model import Message, Session

LINE_CHARS = 500
# What Markdown, its tables, and its links without marks are made of; and what begins a block.
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


def escape(text: str) -> str:
    """Return a text as one line of Markdown that shows it, and does nothing else."""
    line = _SPACE.sub(" ", _UNSEEN.sub("", text)).strip()
    cut = line if len(line) <= LINE_CHARS else line[: LINE_CHARS - 1] + "…"
    begun = _BEGINNING.match(cut)
    rest = _SPECIAL.sub(r"\\\1", cut[begun.end() :] if begun else cut)
    return f"{begun[1]}\\{begun[2]}{rest}" if begun else rest


def fence(text: str) -> str:
    """Return a text as a block that shows it as it is."""
    plain = _UNSEEN.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    longest = max((len(found) for found in _FENCES.findall(plain)), default=2)
    mark = "`" * (longest + 1)
    return f"{mark}text\n{plain}\n{mark}"


def write_summary(session: Session, compactions: Sequence[Message]) -> str:
    """Write `summary.md`: the facts, the summary and what else was found, files, compactions."""
    findings = session.metadata.get("findings")
    parts = [f"# {escape(session.title) or 'Untitled session'}", _facts(session)]
    parts += ["## Summary", fence(session.summary) if session.summary else "There is none yet."]
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
    """List what is known, as far as it is."""
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
    """Yield the transcript in parts: who said what, in order."""
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
        yield f"({message.images} pictures, not kept)"
    if message.is_cut:
        yield f"(not all of {message.content_bytes} bytes)"


def _time(at: float | None) -> str:
    return "" if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _count(number: int | None) -> str:
    return "not recorded" if number is None else f"{number:,}"
