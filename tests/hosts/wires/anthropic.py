"""Anthropic Messages. Source: docs.claude.com/en/api/messages, messages-streaming."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from tests.hosts.script import Sent, Tool, Turn
from tests.hosts.wires.wire import Wire, text_of


def parse(path: str, body: Mapping[str, Any]) -> Turn:
    del path
    blocks = (
        block
        for message in body.get("messages", ())
        if isinstance(message["content"], list)
        for block in message["content"]
    )
    results = tuple(
        text_of(block.get("content", "")) for block in blocks if block.get("type") == "tool_result"
    )
    tools = tuple(Tool(tool["name"]) for tool in body.get("tools") or ())
    return Turn(str(body.get("model")), tools, results, bool(body.get("stream")))


def events(model: str, sent: Sent) -> Iterable[tuple[str, Mapping[str, Any]]]:
    message = whole(model, sent)
    block = message["content"][0]
    opened = {**block, "text": ""} if block["type"] == "text" else {**block, "input": {}}
    delta = (
        {"type": "text_delta", "text": block["text"]}
        if block["type"] == "text"
        else {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    )
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    for name, data in (
        ("message_start", {"message": {**message, "content": [], "stop_reason": None}}),
        ("content_block_start", {"index": 0, "content_block": opened}),
        ("content_block_delta", {"index": 0, "delta": delta}),
        ("content_block_stop", {"index": 0}),
        ("message_delta", {"delta": ended, "usage": message["usage"]}),
        ("message_stop", {}),
    ):
        yield name, {"type": name, **data}


def whole(model: str, sent: Sent) -> Mapping[str, Any]:
    answer, usage = sent.answer, sent.usage
    if isinstance(answer, str):
        block: Mapping[str, Any] = {"type": "text", "text": answer}
    else:
        block = {
            "type": "tool_use",
            "id": f"toolu_{answer.id}",
            "name": answer.tool.full_name,
            "input": answer.arguments,
        }
    return {
        "id": f"msg_{sent.id}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [block],
        "stop_reason": "end_turn" if isinstance(answer, str) else "tool_use",
        "stop_sequence": None,
        "usage": {
            "input_tokens": usage.uncached,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": usage.cached,
            "output_tokens": usage.output,
        },
    }


ANTHROPIC = Wire(parse, events, whole)
