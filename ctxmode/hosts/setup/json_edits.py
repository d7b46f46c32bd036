"""Edits of JSON text that leave every comment, space and foreign entry where it is.

What is put in stands alone on its lines, or right behind what is before it; so what is taken out
again leaves the text as it was, to the byte.
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
    """Text that is no JSON; `offset` is where it stops being any."""

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
    name: str | None = None  # a member's key; of others None
    outer_start: int = 0  # where the member begins; of others as `start`

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


Key = str | int  # of an object, or an item's place in a list
INDENT = "  "
_REST_OF_LINE = re.compile(r"[ \t]*(?://[^\r\n]*|/\*[^\r\n]*\*/[ \t]*)?(?=\r?\n)")


def write_base(members: Mapping[str, Any]) -> str:
    """An object for a new file, over several lines even if it is empty."""
    return json.dumps(members, indent=INDENT) if members else "{\n}"


def put(text: str, path: Sequence[Key], value: object) -> str:
    """The text with `value` at a path of keys; what is missing on the way is made.

    An object that is empty on one line gets it there, one that spans lines on a line of its own.

    Raises:
        ValueError: the text is no JSON, or something on the way is no object.
    """
    node, depth = _reach(parse(text), path)
    rest = path[depth:]
    if not rest:
        return text if node.value == value else _replace(text, node, value)
    for key in reversed(rest[1:]):
        value = {key: value}
    return _add(text, node, f"{json.dumps(rest[0], ensure_ascii=False)}: ", value)


def drop(text: str, path: Sequence[Key]) -> str:
    """The text without what is at a path, nor objects on the way that are empty then and span
    lines, as ours do."""
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
    """The text with another item at the end of the list at a path, which is made where none is."""
    node, depth = _reach(parse(text), path)
    return put(text, path, [item]) if depth < len(path) else _add(text, node, "", item)


def drop_item(text: str, path: Sequence[Key]) -> str:
    """The text without an item of a list. With its last one the list goes, and the item that held
    nothing else but that."""
    root = parse(text)
    while len(_reach(root, path[:-1])[0].children) == 1:
        path = path[:-1]
        if not isinstance(path[-2], int):
            break
        path = path[:-1]
    return drop(text, path)


def _reach(node: Node, path: Sequence[Key]) -> tuple[Node, int]:
    """The deepest node on a path that exists, and how many keys lead to it."""
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
    """The text with another child at the end of an object or list."""
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
    """Whether only white space stands before a place on its line, which is not the first."""
    line = text.rfind("\n", 0, at) + 1
    return line > 0 and not text[line:at].strip()


def _end_of_line(text: str, at: int) -> int:
    """Where the line ends, if only a comment is left of it; else the place itself."""
    match = _REST_OF_LINE.match(text, at)
    return match.end() if match else at


def _remove(text: str, holder: Node, child: Node) -> str:
    """The text without one child, the comma that parted it from another, and what its line has
    before it: the end of the line above, where it begins one."""
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
    """One step of indentation, as the file has it."""
    match = re.search(r"\n([ \t]+)\S", text)
    return match[1] if match else INDENT


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
