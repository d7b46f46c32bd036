"""Edits of JSON text that keep all comments, spaces and foreign entries.

Added text has its own lines, or directly follows the text before it; so removing it restores the
text byte for byte.
"""

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
    """The text is not JSON; `offset` is the position of the error."""

    def __init__(self, text: str, offset: int, problem: str) -> None:
        self.line = text.count("\n", 0, offset) + 1
        self.problem = problem
        super().__init__(f"line {self.line}: {problem}")


@dataclass(frozen=True, slots=True)
class Node:
    """A value and its range."""

    value: Any
    start: int
    end: int
    children: tuple[Node, ...] = ()  # an object's members or a list's items, in order
    name: str | None = None  # a member's key; None for others
    outer_start: int = 0  # start of the member; for others `start`

    def child(self, name: str) -> Node | None:
        """Return the last member with that key, which is the one that counts."""
        return next((c for c in reversed(self.children) if c.name == name), None)


def parse(text: str) -> Node:
    """Parse a text with one value. Raise JsonSyntaxError if it is not JSON, even with comments and
    trailing commas."""
    node = _value(text, skip_space(text, 0), 0)
    end = skip_space(text, node.end)
    if end != len(text):
        raise JsonSyntaxError(text, end, "unexpected text after the value")
    return node


def find_value(document: Any, path: Sequence[str]) -> Any:  # noqa: ANN401 - data of JSON or TOML
    """Find the value at a path of keys; None if it is missing."""
    for key in path:
        document = document.get(key) if isinstance(document, Mapping) else None
    return document


def skip_space(text: str, at: int) -> int:
    """Return the first position from `at` on that is neither space nor comment."""
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _value(text: str, at: int, depth: int) -> Node:
    if depth > DEPTH_MAX:
        raise JsonSyntaxError(text, at, "nested too deeply")
    opening = text[at : at + 1]
    if opening in ("{", "["):
        return _container(text, at, depth)
    match = _STRING.match(text, at) or _PLAIN.match(text, at)
    if match is None:
        raise JsonSyntaxError(text, at, "missing value")
    try:
        return Node(json.loads(match[0]), at, match.end(), outer_start=at)
    except ValueError:
        raise JsonSyntaxError(text, at, f"invalid value {match[0]}") from None


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
            raise JsonSyntaxError(text, at, f"missing comma or {closing}")
    value: Any = {c.name: c.value for c in children} if is_object else [c.value for c in children]
    return Node(value, start, at + 1, tuple(children), outer_start=start)


def _member(text: str, at: int, depth: int) -> Node:
    key = _STRING.match(text, at)
    if key is None:
        raise JsonSyntaxError(text, at, "missing key in double quotes")
    colon = skip_space(text, key.end())
    if text[colon : colon + 1] != ":":
        raise JsonSyntaxError(text, colon, "missing colon")
    node = _value(text, skip_space(text, colon + 1), depth + 1)
    return Node(node.value, node.start, node.end, node.children, json.loads(key[0]), at)


Key = str | int  # key of an object, or index in a list
INDENT = "  "
_REST_OF_LINE = re.compile(r"[ \t]*(?://[^\r\n]*|/\*[^\r\n]*\*/[ \t]*)?(?=\r?\n)")


def write_base(members: Mapping[str, Any]) -> str:
    """Write an object for a new file, on several lines even if it is empty."""
    return json.dumps(members, indent=INDENT) if members else "{\n}"


def put(text: str, path: Sequence[Key], value: object) -> str:
    """Set `value` at a path of keys; missing objects on the way are created.

    An empty object on one line gets the value there; one that spans lines gets another line.

    Raises:
        ValueError: the text is not JSON, or a value on the way is not an object.
    """
    node, depth = _reach(parse(text), path)
    rest = path[depth:]
    if not rest:
        return text if node.value == value else _replace(text, node, value)
    for key in reversed(rest[1:]):
        value = {key: value}
    return _add(text, node, f"{json.dumps(rest[0], ensure_ascii=False)}: ", value)


def drop(text: str, path: Sequence[Key]) -> str:
    """Remove the value at a path, and objects on the way that become empty and span lines, as ours
    do."""
    if not text.strip():
        return text
    root = parse(text)
    node, depth = _reach(root, path)
    if depth < len(path):
        return text
    holder, _ = _reach(root, path[:-1])
    text = _remove(text, holder, node)
    return _without_empty(text, path[:-1])


def add_item(text: str, path: Sequence[Key], item: object) -> str:
    """Add an item to the end of the list at a path; a missing list is created."""
    node, depth = _reach(parse(text), path)
    return put(text, path, [item]) if depth < len(path) else _add(text, node, "", item)


def drop_item(text: str, path: Sequence[Key]) -> str:
    """Remove an item of a list. An empty list is removed, too, and so is the item that contained
    only this list."""
    root = parse(text)
    while len(_reach(root, path[:-1])[0].children) == 1:
        path = path[:-1]
        if not isinstance(path[-2], int):
            break
        path = path[:-1]
    return drop(text, path)


def _reach(node: Node, path: Sequence[Key]) -> tuple[Node, int]:
    """Return the deepest existing node on a path, and the number of keys to it."""
    for depth, key in enumerate(path):
        if isinstance(key, int):
            node = node.children[key]
            continue
        if not isinstance(node.value, dict):
            shown = ".".join(map(str, path[:depth]))
            raise ValueError(f"{shown or 'the file'} is not an object")
        child = node.child(key)
        if child is None:
            return node, depth
        node = child
    return node, len(path)


def _without_empty(text: str, path: Sequence[Key]) -> str:
    node, depth = _reach(parse(text), path)
    inside = text[node.start + 1 : node.end - 1]
    if not path or depth < len(path) or node.value or inside.strip() or "\n" not in inside:
        return text
    return drop(text, path)


def _replace(text: str, node: Node, value: object) -> str:
    written = _write(value, _indent_at(text, node.outer_start), _unit(text), text)
    return text[: node.start] + written + text[node.end :]


def _add(text: str, node: Node, label: str, value: object) -> str:
    """Add a child to the end of an object or list."""
    newline, unit = _newline(text), _unit(text)
    outer = _indent_at(text, node.start)
    if not node.children:
        inside = text[node.start + 1 : node.end - 1]
        is_line = "\n" in inside
        at = node.start + 1 + (len(inside.rstrip()) if is_line else 0)
        inner = outer + unit if is_line else outer
        lead = newline + inner if is_line else ""
        return f"{text[:at]}{lead}{label}{_write(value, inner, unit, text)}{text[at:]}"
    last = node.children[-1]
    at = skip_space(text, last.end)
    has_comma = text[at : at + 1] == ","
    comma_at = at + 1 if has_comma else last.end
    own_comma, tail = ("", ",") if has_comma else (",", "")
    if not _begins_line(text, last.outer_start):
        written = label + _write(value, _indent_at(text, last.outer_start), unit, text)
        return f"{text[:comma_at]}{own_comma} {written}{tail}{text[comma_at:]}"
    inner = _indent_at(text, last.outer_start)
    written = label + _write(value, inner, unit, text) + tail
    line_end = _end_of_line(text, comma_at)
    head = text[:comma_at] + own_comma + text[comma_at:line_end]
    return f"{head}{newline}{inner}{written}{text[line_end:]}"


def _begins_line(text: str, at: int) -> bool:
    """Return whether only white space precedes a position on its line, which is not the first."""
    line = text.rfind("\n", 0, at) + 1
    return line > 0 and not text[line:at].strip()


def _end_of_line(text: str, at: int) -> int:
    """Return the end of the line if only a comment follows; else the position itself."""
    match = _REST_OF_LINE.match(text, at)
    return match.end() if match else at


def _remove(text: str, holder: Node, child: Node) -> str:
    """Remove one child, the comma that separated it, and the space before it on its line; if it
    begins a line, also the end of the line above."""
    start, end = child.outer_start, child.end
    index = next(i for i, c in enumerate(holder.children) if c.outer_start == start)
    after = skip_space(text, end)
    has_comma = text[after : after + 1] == ","
    if has_comma:
        text = text[:after] + text[after + 1 :]
    if _begins_line(text, start):
        start = text.rfind("\n", 0, start)
        start -= text[start - 1 : start] == "\r"
    elif has_comma and not index:
        end += len(text[end:]) - len(text[end:].lstrip(" "))
    else:
        start -= text[start - 1 : start] == " "
    text = text[:start] + text[end:]
    if has_comma or not index:
        return text
    comma = skip_space(text, holder.children[index - 1].end)
    return text[:comma] + text[comma + 1 :]


def _write(value: object, indent: str, unit: str, text: str) -> str:
    lines = json.dumps(value, indent=unit, ensure_ascii=False).split("\n")
    return (_newline(text) + indent).join(lines)


def _indent_at(text: str, at: int) -> str:
    line = text.rfind("\n", 0, at) + 1
    match = re.match(r"[ \t]*", text[line:at])
    return match[0] if match else ""


def _unit(text: str) -> str:
    """Return the file's indentation step."""
    match = re.search(r"\n([ \t]+)\S", text)
    return match[1] if match else INDENT


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
