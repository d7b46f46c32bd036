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

import mcp.types as wire
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.types import InputRequiredResult
from pydantic import ValidationError

from ctxmode.render.refusals import with_lines
from policy.secrets import redact

FIRST_REVISION_WITHOUT_REQUESTS = "2026-07-28"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "allow": {"type": "boolean", "title": "Run it", "description": "Run this program once"}
    },
    "required": ["allow"],
}


class ConsentNeededError(Exception):
    """The call must be made again with the person's answer."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        form = wire.ElicitRequestFormParams(message=message, requested_schema=SCHEMA)
        self.result = InputRequiredResult(input_requests={key: wire.ElicitRequest(params=form)})


async def ask(
    context: ServerRequestContext[Any],
    answers: Mapping[str, Any],
    verdict: Mapping[str, Any],
    *,
    may_restart: bool,
) -> bool | None:
    """Ask whether the person agrees; None if the client cannot ask one. `answers` came with the
    call, `may_restart` says that nothing has run yet. ConsentNeededError: the client asks, and then
    makes the call again."""
    capabilities = context.session.client_capabilities
    if capabilities is None or capabilities.elicitation is None:
        return None
    message = word_question(verdict)
    if context.protocol_version >= FIRST_REVISION_WITHOUT_REQUESTS:
        key = _build_key(verdict)
        if key in answers:
            return _agrees(answers[key])
        if not may_restart:
            return None
        raise ConsentNeededError(key, message)
    try:
        return _agrees(await context.session.elicit_form(message, SCHEMA, context.request_id))
    except (MCPError, ValidationError):
        return None


def word_question(verdict: Mapping[str, Any]) -> str:
    """Word what a person is asked: which rule says so, and about what."""
    asking = [match for match in verdict.get("matches", ()) if match["decision"] == "ask"]
    head = f"Run this? {verdict.get('message', '')}".rstrip()
    return redact(with_lines(head, [f"- {match['text']}" for match in asking])).text


def _build_key(verdict: Mapping[str, Any]) -> str:
    """Name the question, so that an answer to another one does not count for this."""
    text = json.dumps([verdict.get("message"), verdict.get("matches")], sort_keys=True)
    return f"consent-{hashlib.sha256(text.encode()).hexdigest()[:24]}"


def _agrees(answer: object) -> bool:
    return (
        isinstance(answer, wire.ElicitResult)
        and answer.action == "accept"
        and (answer.content or {}).get("allow") is True
    )
