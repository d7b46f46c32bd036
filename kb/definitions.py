"""The definitions of a program: where each begins and ends, its name, its comments above it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kb import grammars

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_DEPTH = 200
"""Definitions deeper in the syntax tree go with what encloses them. A query is quadratic in the
depth of a tree, and some operators nest once per operand."""

_SPACE = b" \t\r\n"
_NAME_BYTES = 200


class Definition(NamedTuple):
    """A definition in bytes, with the comments above it from `start`; `node` is its syntax."""

    start: int
    end: int
    name: str
    node: Node


def find_definitions(data: bytes, language: str, root: Node) -> list[Definition]:
    """Return the definitions of `data` from outside in and top to bottom, leads included."""
    from tree_sitter import QueryCursor  # noqa: PLC0415 - see grammars.grammar

    named: dict[int, tuple[Node, list[Node]]] = {}
    wraps: dict[int, Node] = {}
    leads: dict[int, int] = {}
    _, query = grammars.grammar(language)
    cursor = QueryCursor(query)
    cursor.set_max_start_depth(MAX_DEPTH)
    for _, captures in cursor.matches(root):
        for lead in captures.get("lead", ()):
            leads[_without_space(data, lead.end_byte)] = lead.start_byte
        for inner in captures.get("inner", ()):
            wraps[inner.id] = captures["wrap"][0]
        for node in captures.get("def", ()):
            names = [*captures.get("owner", ()), *captures.get("name", ())]
            named.setdefault(node.id, (node, names))
    found = []
    for node, names in named.values():
        outer = node
        while outer.id in wraps:
            outer = wraps.pop(outer.id)
        start = _with_leads(data, leads, outer.start_byte)
        found.append(Definition(start, outer.end_byte, _name(data, node, names), node))
    return sorted(found, key=lambda d: (d.start, -d.end))


def _with_leads(data: bytes, leads: dict[int, int], start: int) -> int:
    """Where the comments and attributes begin that stand directly above `start`."""
    while True:
        above = _without_space(data, start)
        lead = leads.get(above)
        if lead is None or data.count(b"\n", above, start) > 1 or not _begins_line(data, lead):
            return start
        del leads[above]
        start = lead


def _without_space(data: bytes, end: int) -> int:
    while end > 0 and data[end - 1] in _SPACE:
        end -= 1
    return end


def _begins_line(data: bytes, position: int) -> bool:
    while position > 0 and data[position - 1] in b" \t":
        position -= 1
    return position == 0 or data[position - 1] == 0x0A


def _name(data: bytes, node: Node, names: list[Node]) -> str:
    """What the definition is called, without a C declarator's stars and parameters."""
    if not names:
        field = node.child_by_field_name("name")
        names = [field] if field is not None else []
    parts = []
    for part in names:
        start = part.start_byte
        text = data[start : min(part.end_byte, start + _NAME_BYTES)].decode("utf-8", "replace")
        parts.append(" ".join(text.partition("(")[0].split()).strip("*&\"' "))
    return ".".join(dict.fromkeys(p for p in parts if p))
