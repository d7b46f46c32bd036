"""Asking the person behind a client for consent, in the ways that the protocol has had for it.

Up to revision 2025-11-25 the server sends the client a request while the call goes on. From
2026-07-28 on the answer to the call says what is needed, and the client calls again. So the server
asks only before anything of the call has run.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from ctxmode.mcp.conversation import Conversation
from ctxmode.mcp.protocol import STATELESS_REVISIONS, ProtocolError
from ctxmode.render.refusals import with_lines
from policy.secrets import redact

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "allow": {"type": "boolean", "title": "Allow it", "description": "Do this once"}
    },
    "required": ["allow"],
}


class ConsentNeededError(Exception):
    """The call must be made again with the person's answer."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        asked = {key: {"method": "elicitation/create", "params": _build_form(message)}}
        self.result = {"resultType": "input_required", "inputRequests": asked}


def _build_form(message: str) -> dict[str, Any]:
    return {"mode": "form", "message": message, "requestedSchema": SCHEMA}


async def ask(
    conversation: Conversation,
    answers: Mapping[str, Any],
    verdict: Mapping[str, Any],
    *,
    may_restart: bool,
) -> bool | None:
    """Ask whether the person agrees; None if the client cannot ask one. `answers` came with the
    call, `may_restart` says that nothing has run yet. ConsentNeededError: the client asks, and then
    makes the call again."""
    if "elicitation" not in conversation.envelope.capabilities:
        return None
    message = word_question(verdict)
    if conversation.envelope.revision in STATELESS_REVISIONS:
        key = _build_key(verdict)
        if key in answers:
            return _agrees(answers[key])
        if not may_restart:
            return None
        raise ConsentNeededError(key, message)
    try:
        return _agrees(await conversation.ask("elicitation/create", _build_form(message)))
    except ProtocolError:
        return None


def word_question(verdict: Mapping[str, Any]) -> str:
    """Word what a person is asked: which rule says so, and about what; or the verdict's own
    question."""
    if question := verdict.get("question"):
        return redact(str(question)).text
    asking = [match for match in verdict.get("matches", ()) if match["decision"] == "ask"]
    head = f"Run this? {verdict.get('message', '')}".rstrip()
    return redact(with_lines(head, [f"- {match['text']}" for match in asking])).text


def _build_key(verdict: Mapping[str, Any]) -> str:
    """Name the question, so that an answer to another one does not count for this."""
    named = ("message", "matches", "question")
    text = json.dumps([verdict.get(name) for name in named], sort_keys=True)
    return f"consent-{hashlib.sha256(text.encode()).hexdigest()[:24]}"


def _agrees(answer: object) -> bool:
    if not isinstance(answer, Mapping) or answer.get("action") != "accept":
        return False
    content = answer.get("content")
    return isinstance(content, Mapping) and content.get("allow") is True
