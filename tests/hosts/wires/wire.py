"""What every wire format of models has, and what they share."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.hosts.script import Sent, Turn


@dataclass(frozen=True, slots=True)
class Wire:
    """One wire format.

    `parse` tells what a request asks, from its path and its body. `events` makes what is sent of a
    model into events of a stream, each a name, empty for none, and its data; `whole` into one JSON
    object. `end` is what a stream ends with.
    """

    parse: Callable[[str, Mapping[str, Any]], Turn]
    events: Callable[[str, Sent], Iterable[tuple[str, Mapping[str, Any]]]]
    whole: Callable[[str, Sent], Mapping[str, Any]]
    end: str = ""


def to_sse(events: Iterable[tuple[str, Mapping[str, Any]]], end: str) -> bytes:
    """Events as the body of a stream of server-sent events."""
    lines = []
    for name, data in events:
        lines.append(f"event: {name}\n" if name else "")
        lines.append(f"data: {json.dumps(data)}\n\n")
    return ("".join(lines) + end).encode()


def text_of(content: object) -> str:
    """The text of a message's content: a string, blocks with a `text`, or any other JSON."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(
            block["text"] if isinstance(block, dict) and "text" in block else _kind(block)
            for block in content
        )
    return json.dumps(content, ensure_ascii=False)


def _kind(block: object) -> str:
    """A block that has no text, by its kind: a picture is no text that a model reads."""
    return f"[{block.get('type')}]" if isinstance(block, dict) else str(block)
