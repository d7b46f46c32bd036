"""OpenAI Responses. Source: platform.openai.com/docs/api-reference/responses, -streaming."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tests.hosts.script import Sent, Tool, Turn
from tests.hosts.wires.wire import Wire, text_of


def parse(path: str, body: Mapping[str, Any]) -> Turn:
    del path
    given = body.get("input")
    items = given if isinstance(given, list) else []
    results = tuple(
        text_of(item["output"]) for item in items if str(item.get("type")).endswith("call_output")
    )
    tools = tuple(_tools(body.get("tools") or ()))
    return Turn(str(body.get("model")), tools, results, bool(body.get("stream")))


def _tools(listed: Iterable[Mapping[str, Any]]) -> Iterator[Tool]:
    for tool in listed:
        if tool["type"] == "namespace":
            yield from (Tool(inner["name"], tool["name"]) for inner in tool["tools"])
        elif "name" in tool:
            yield Tool(tool["name"], is_freeform=tool["type"] == "custom")


def events(model: str, sent: Sent) -> Iterable[tuple[str, Mapping[str, Any]]]:
    response = whole(model, sent)
    item = response["output"][0]
    started = {**response, "status": "in_progress", "output": []}
    rows: Sequence[tuple[str, Mapping[str, Any]]] = (
        ("response.created", {"response": started}),
        ("response.output_item.added", {"output_index": 0, "item": _opened(item)}),
        *_deltas(item),
        ("response.output_item.done", {"output_index": 0, "item": item}),
        ("response.completed", {"response": response}),
    )
    for number, (name, data) in enumerate(rows):
        yield name, {"type": name, "sequence_number": number, **data}


def _opened(item: Mapping[str, Any]) -> Mapping[str, Any]:
    nothing: Mapping[str, Any] = {"arguments": "", "input": "", "content": []}
    empty = {key: nothing[key] for key in nothing if key in item}
    return {**item, **empty, "status": "in_progress"}


def _deltas(item: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    at: dict[str, Any] = {"item_id": item["id"], "output_index": 0}
    if item["type"] == "message":
        text = item["content"][0]["text"]
        part = {"type": "output_text", "text": "", "annotations": []}
        at |= {"content_index": 0}
        yield "response.content_part.added", {**at, "part": part}
        yield "response.output_text.delta", {**at, "delta": text, "logprobs": []}
        yield "response.output_text.done", {**at, "text": text, "logprobs": []}
        yield "response.content_part.done", {**at, "part": {**part, "text": text}}
    elif item["type"] == "function_call":
        yield "response.function_call_arguments.delta", {**at, "delta": item["arguments"]}
        done = {"arguments": item["arguments"], "name": item["name"]}
        yield "response.function_call_arguments.done", {**at, **done}
    else:
        yield "response.custom_tool_call_input.delta", {**at, "delta": item["input"]}
        yield "response.custom_tool_call_input.done", {**at, "input": item["input"]}


def whole(model: str, sent: Sent) -> Mapping[str, Any]:
    usage = {
        "input_tokens": sent.usage.input,
        "input_tokens_details": {"cached_tokens": sent.usage.cached},
        "output_tokens": sent.usage.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": sent.usage.total,
    }
    return {
        "id": f"resp_{sent.id}",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": model,
        "output": [_item(sent)],
        "parallel_tool_calls": False,
        "tool_choice": "auto",
        "tools": [],
        "usage": usage,
        "error": None,
        "incomplete_details": None,
    }


def _item(sent: Sent) -> Mapping[str, Any]:
    answer = sent.answer
    if isinstance(answer, str):
        content = [{"type": "output_text", "text": answer, "annotations": []}]
        message = {"type": "message", "id": f"msg_{sent.id}", "role": "assistant"}
        return {**message, "status": "completed", "content": content}
    called = {"call_id": f"call_{answer.id}", "name": answer.tool.name, "status": "completed"}
    if answer.tool.namespace:
        called["namespace"] = answer.tool.namespace
    if answer.tool.is_freeform:
        text = next(iter(answer.arguments.values()))
        return {"type": "custom_tool_call", "id": f"ctc_{answer.id}", **called, "input": text}
    words = json.dumps(answer.arguments)
    return {"type": "function_call", "id": f"fc_{answer.id}", **called, "arguments": words}


RESPONSES = Wire(parse, events, whole)
