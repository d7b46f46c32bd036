"""JSON with comments and trailing commas, parsed to where everything stands in the text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_SPACE = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_PLAIN = re.compile(r"-?[0-9][0-9.eE+-]*|true|false|null")
DEPTH_MAX = 100


class JsonSyntaxError(ValueError):
    """Text that is no JSON; `offset` is where it stops being any."""

    def __init__(self, text: str, offset: int, problem: str) -> None:
        self.line = text.count("\n", 0, offset) + 1
        self.problem = problem
        super().__init__(f"line {self.line}: {problem}")


@dataclass(frozen=True, slots=True)
class Node:
    """A value and its range. `children` are an object's members or a list's items, in order.

    `name` is a member's key, and `outer_start` where the member begins; for others they are the
    value's own.
    """

    value: Any
    start: int
    end: int
    children: tuple[Node, ...] = ()
    name: str | None = None
    outer_start: int = 0

    def child(self, name: str) -> Node | None:
        """The last member of that key, which is the one that counts."""
        return next((c for c in reversed(self.children) if c.name == name), None)


def parse(text: str) -> Node:
    """The one value of a text.

    Raises:
        JsonSyntaxError: it is no JSON, even with comments and trailing commas.
    """
    node = _value(text, skip_space(text, 0), 0)
    end = skip_space(text, node.end)
    if end != len(text):
        raise JsonSyntaxError(text, end, "something follows the value")
    return node


def find_value(document: Any, path: Sequence[str]) -> Any:  # noqa: ANN401 - data of JSON or TOML
    """Find the value at a path of keys; None if there is none."""
    for key in path:
        document = document.get(key) if isinstance(document, Mapping) else None
    return document


def skip_space(text: str, at: int) -> int:
    """The first place at or after `at` that is neither space nor comment."""
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _value(text: str, at: int, depth: int) -> Node:
    if depth > DEPTH_MAX:
        raise JsonSyntaxError(text, at, "nested too deep")
    opening = text[at : at + 1]
    if opening in ("{", "["):
        return _container(text, at, depth)
    match = _STRING.match(text, at) or _PLAIN.match(text, at)
    if match is None:
        raise JsonSyntaxError(text, at, "a value is missing")
    try:
        return Node(json.loads(match[0]), at, match.end(), outer_start=at)
    except ValueError:
        raise JsonSyntaxError(text, at, f"{match[0]} is no value") from None


def _container(text: str, start: int, depth: int) -> Node:
    is_object = text[start] == "{"
    closing = "}" if is_object else "]"
    children: list[Node] = []
    at = skip_space(text, start + 1)
    while text[at : at + 1] != closing:
        child = _member(text, at, depth) if is_object else _value(text, at, depth + 1)
        children.append(child)
        at = skip_space(text, child.end)
        if text[at : at + 1] == ",":
            at = skip_space(text, at + 1)
        elif text[at : at + 1] != closing:
            raise JsonSyntaxError(text, at, f"a comma or {closing} is missing")
    value: Any = {c.name: c.value for c in children} if is_object else [c.value for c in children]
    return Node(value, start, at + 1, tuple(children), outer_start=start)


def _member(text: str, at: int, depth: int) -> Node:
    key = _STRING.match(text, at)
    if key is None:
        raise JsonSyntaxError(text, at, "a key in double quotes is missing")
    colon = skip_space(text, key.end())
    if text[colon : colon + 1] != ":":
        raise JsonSyntaxError(text, colon, "a colon is missing")
    node = _value(text, skip_space(text, colon + 1), depth + 1)
    return Node(node.value, node.start, node.end, node.children, json.loads(key[0]), at)
