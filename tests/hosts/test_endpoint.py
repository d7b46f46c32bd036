"""The scripted endpoint does what its script says, in every wire format."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.hosts.conversation import DONE, HARMLESS, Conversation
from tests.hosts.endpoint import serving
from tests.hosts.script import Call, Deferral

STEPS = (
    Call("ctx_execute", {"code": "echo hi"}),
    Call("no_such_tool"),
    Call("shell", {"cmd": "ls"}),
)
NAMES = ("mcp__context-mode__ctx_execute", "read", "shell", "write")
SCHEMA = {"type": "object"}


def _anthropic(results: Sequence[str], names: Sequence[str]) -> tuple[str, Mapping[str, Any]]:
    blocks = [
        {"type": "tool_result", "content": [{"type": "text", "text": one}]} for one in results
    ]
    messages = [{"role": "user", "content": "go"}, {"role": "user", "content": blocks}]
    tools = [{"name": name, "input_schema": SCHEMA} for name in names]
    return "/v1/messages", {"messages": messages, "tools": tools}


def _responses(results: Sequence[str], names: Sequence[str]) -> tuple[str, Mapping[str, Any]]:
    items = [{"type": "function_call_output", "output": one} for one in results]
    tools = [{"type": "function", "name": name} for name in names]
    return "/v1/responses", {"input": [{"type": "message"}, *items], "tools": tools}


def _chat(results: Sequence[str], names: Sequence[str]) -> tuple[str, Mapping[str, Any]]:
    messages = [{"role": "tool", "content": one} for one in results]
    tools = [{"type": "function", "function": {"name": name}} for name in names]
    return "/v1/chat/completions", {"messages": messages, "tools": tools}


def _gemini(results: Sequence[str], names: Sequence[str]) -> tuple[str, Mapping[str, Any]]:
    parts = [{"functionResponse": {"response": {"output": one}}} for one in results]
    tools = [{"functionDeclarations": [{"name": name} for name in names]}]
    body = {"contents": [{"role": "user", "parts": parts}], "tools": tools}
    return "/v1beta/models/some-model:generateContent", body


def _ask(port: int, asked: tuple[str, Mapping[str, Any]], *, stream: bool = False) -> str:
    path, body = asked
    if stream:
        path = path.replace(":generateContent", ":streamGenerateContent?alt=sse")
    data = json.dumps({"model": "m", "stream": stream, **body}).encode()
    with urllib.request.urlopen(
        urllib.request.Request(f"http://127.0.0.1:{port}{path}", data), timeout=10
    ) as answer:
        return str(answer.read().decode())


def _said(response: str) -> str:
    """A response without what tells it from all others: its id and its token counts."""
    return re.sub(r"scripted\d+|oken\w*\": \d+", "", response)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("asking", [_anthropic, _responses, _chat, _gemini])
def test_a_script_is_followed_and_recorded(asking, stream):
    conversation = Conversation(STEPS)
    with serving(conversation) as port:
        first = _ask(port, asking([], NAMES), stream=stream)
        again = _ask(port, asking([], NAMES), stream=stream)
        second = _ask(port, asking(["hi"], NAMES), stream=stream)
        last = _ask(port, asking(["hi", "a list"], NAMES), stream=stream)
    assert "mcp__context-mode__ctx_execute" in first
    assert "echo hi" in first
    assert _said(again) == _said(first)  # a host that tries again gets the same
    assert '"shell"' in second
    assert DONE in last
    transcript = conversation.transcript()
    assert [one.text for one in transcript.shown] == ["hi", None, "a list"]
    assert [one.is_offered for one in transcript.shown] == [True, False, True]
    assert list(transcript.first_tools) == list(NAMES)


@pytest.mark.parametrize("asking", [_anthropic, _responses, _chat, _gemini])
def test_side_requests_take_no_step(asking):
    conversation = Conversation(STEPS)
    with serving(conversation) as port:
        assert json.dumps(HARMLESS) in _ask(port, asking([], []))
        assert "ctx_execute" in _ask(port, asking([], NAMES))
    assert conversation.transcript().count("side") == 1


def test_a_deferred_tool_is_searched_for_and_called_through_another():
    deferral = Deferral(
        lambda name: Call("tool_search", {"query": name}),
        lambda call: Call("tool_call", {"name": call.tool}),
    )
    conversation = Conversation(STEPS[:1], deferral)
    names = ("tool_search", "tool_call", "shell")
    with serving(conversation) as port:
        assert "tool_search" in _ask(port, _chat([], names))
        assert "tool_call" in _ask(port, _chat(["found"], names))
        assert DONE in _ask(port, _chat(["found", "hi"], names))
    (shown,) = conversation.transcript().shown
    assert (shown.is_offered, shown.text) == (True, "hi")
