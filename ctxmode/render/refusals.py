"""The text on a program that a rule refused, never longer than an agent should have to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from executor.model import Result, Status
from policy.messages import BYTES_MAX, cut, fit

_LINE_BYTES_MAX = 160


def refusal_text(result: Result) -> str:
    """Say which rule of which file decided, and what to do instead. Nothing ran."""
    verdict = result.verdict or {}
    message = str(verdict.get("message") or result.message)
    if result.status is Status.REDIRECTED:
        head, called, call = message.rpartition("\nCall: ")
        return fit(f"[redirected, nothing ran] {head}", called + call)
    head = f"[denied, nothing ran] {message}"
    if verdict.get("decision") == "ask":
        head += (
            "\nA rule asks for a person's consent, and it was refused."
            if verdict.get("consent") is False
            else "\nA rule asks for a person's consent, and there is nobody here to give it."
        )
    return with_lines(head, _list_others(verdict))


def with_lines(head: str, lines: Sequence[str]) -> str:
    """Add as many further lines to a text as fit, and say how many were left out."""
    for count in range(min(len(lines), BYTES_MAX), -1, -1):
        rest = f"\n{len(lines) - count} more: `context-mode policy explain` shows them"
        text = "\n".join([head, *(cut(line, _LINE_BYTES_MAX) for line in lines[:count])])
        text += rest if count < len(lines) else ""
        if len(text.encode("utf-8", "replace")) <= BYTES_MAX:
            return text
    return head


def _list_others(verdict: Mapping[str, Any]) -> list[str]:
    """List the other rules that decide the same, each once."""
    found: dict[str, None] = {}
    for match in verdict.get("matches", ()):
        if match["decision"] == verdict["decision"]:
            place = f"{match['file']}:{match['line']}" if match["line"] else match["file"]
            found[f"- also {match['rule']} in {place}"] = None
    return list(found)[1:]
