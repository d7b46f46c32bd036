"""OpenAI Chat Completions. Source: platform.openai.com/docs/api-reference/chat, -streaming."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any

from tests.hosts.script import Answer, Sent, Tool, Turn, Usage
from tests.hosts.wires.wire import Wire, text_of


def parse(path: str, body: Mapping[str, Any]) -> Turn:
    del path
    messages = body.get("messages", ())
    results = tuple(text_of(one.get("content", "")) for one in messages if one["role"] == "tool")
    functions = (tool["function"] for tool in body.get("tools") or () if "function" in tool)
    tools = tuple(Tool(function["name"]) for function in functions)
    return Turn(str(body.get("model")), tools, results, bool(body.get("stream")), _beside(messages))


def _beside(messages: Sequence[Mapping[str, Any]]) -> str:
    """The user's messages after the last result: where Cline puts what its hooks say."""
    last = takewhile(lambda message: message["role"] == "user", reversed(messages))
    return "".join(text_of(message.get("content", "")) for message in last)


def events(model: str, sent: Sent) -> Iterable[tuple[str, Mapping[str, Any]]]:
    message = dict(_message(sent.answer))
    if calls := message.get("tool_calls"):
        message["tool_calls"] = [{"index": 0, **call} for call in calls]
    head = {
        "id": f"chatcmpl-{sent.id}",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": model,
    }
    for delta, reason in ((message, None), ({}, _reason(sent.answer))):
        yield "", {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
    yield "", {**head, "choices": [], "usage": _usage(sent.usage)}


def whole(model: str, sent: Sent) -> Mapping[str, Any]:
    answer = sent.answer
    choice = {"index": 0, "message": _message(answer), "finish_reason": _reason(answer)}
    head = {"id": f"chatcmpl-{sent.id}", "object": "chat.completion", "created": 1, "model": model}
    return {**head, "choices": [choice], "usage": _usage(sent.usage)}


def _usage(usage: Usage) -> Mapping[str, Any]:
    return {
        "prompt_tokens": usage.input,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        "completion_tokens": usage.output,
        "total_tokens": usage.total,
    }


def _reason(answer: Answer) -> str:
    return "stop" if isinstance(answer, str) else "tool_calls"


def _message(answer: Answer) -> Mapping[str, Any]:
    if isinstance(answer, str):
        return {"role": "assistant", "content": answer}
    function = {"name": answer.tool.full_name, "arguments": json.dumps(answer.arguments)}
    call = {"id": f"call_{answer.id}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


CHAT = Wire(parse, events, whole, end="data: [DONE]\n\n")
