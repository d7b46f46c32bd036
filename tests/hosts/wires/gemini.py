"""Gemini's generateContent. Source: ai.google.dev/api/generate-content."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tests.hosts.script import Sent, Tool, Turn
from tests.hosts.wires.wire import Wire, text_of


def parse(path: str, body: Mapping[str, Any]) -> Turn:
    model = path.rpartition("/models/")[2].partition(":")[0]
    parts = (part for content in body.get("contents", ()) for part in content.get("parts", ()))
    results = tuple(
        _result(part["functionResponse"]["response"])
        for part in parts
        if "functionResponse" in part
    )
    declared = (
        function
        for tool in body.get("tools") or ()
        for function in tool.get("functionDeclarations", ())
    )
    tools = tuple(Tool(function["name"]) for function in declared)
    return Turn(model, tools, results, ":stream" in path)


def _result(response: Mapping[str, Any]) -> str:
    """A result's text; `output` alone is how a host hands over a text."""
    return text_of(response["output"] if set(response) == {"output"} else response)


def events(model: str, sent: Sent) -> Iterable[tuple[str, Mapping[str, Any]]]:
    yield "", whole(model, sent)


def whole(model: str, sent: Sent) -> Mapping[str, Any]:
    answer = sent.answer
    if isinstance(answer, str):
        part: Mapping[str, Any] = {"text": answer}
    else:
        call = {"id": answer.id, "name": answer.tool.full_name, "args": answer.arguments}
        part = {"functionCall": call}
    content = {"role": "model", "parts": [part]}
    usage = {
        "promptTokenCount": sent.usage.input,
        "cachedContentTokenCount": sent.usage.cached,
        "candidatesTokenCount": sent.usage.output,
        "totalTokenCount": sent.usage.total,
    }
    candidate = {"index": 0, "content": content, "finishReason": "STOP"}
    return {
        "responseId": sent.id,
        "candidates": [candidate],
        "usageMetadata": usage,
        "modelVersion": model,
    }


GEMINI = Wire(parse, events, whole)
