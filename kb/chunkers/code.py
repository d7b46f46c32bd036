"""Programs by definitions: each with its comment, titled by the definitions that enclose it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from kb import grammars
from kb.chunks import Mark

if TYPE_CHECKING:
    from tree_sitter import Node

PARSE_BYTES = 2 * 1024 * 1024
"""Larger files are data or generated: they are cut by lines, as a syntax tree of them costs some
fifty times their size in memory."""

PARSE_LINE_BYTES = 16_384
"""Longer lines are generated too. Scanners that ask for their column read the line from its start
each time, and nothing can stop them meanwhile: minutes for 100 KB."""

MAX_DEPTH = 200
"""Definitions deeper in the syntax tree go with what encloses them. A query is quadratic in the
depth of a tree, and some operators nest once per operand."""

PARSE_BASE_S = 0.25
PARSE_S_PER_BYTE = 2e-6
"""Processor time for one parse: real programs take a twentieth of it."""

_READ_BYTES = 65_536
_CALLS_A_LOOK = 32
_MAX_ERROR_CHILDREN = 4000
_SPACE = b" \t\r\n"
_NAME_BYTES = 200
_DEPTH = 32


class _Definition(NamedTuple):
    start: int
    end: int
    name: str


def is_parsed(data: bytes, language: str | None) -> bool:
    """Whether a parser is put to it; what it is too much for is cut by lines alone."""
    if language not in grammars.QUERIES or len(data) > PARSE_BYTES:
        return False
    return max(map(len, data.split(b"\n"))) <= PARSE_LINE_BYTES


def marks(data: bytes, language: str | None) -> Iterator[Mark]:
    """A mark where a definition starts, and one where it ends and its surroundings go on."""
    if language is None or not is_parsed(data, language):
        return
    enclosing: list[tuple[int, tuple[str, ...]]] = []
    path: tuple[str, ...] = ()
    for start, end, name in _definitions(data, language):
        while enclosing and enclosing[-1][0] <= start:
            before, path = enclosing.pop()
            yield Mark(before, path)
        enclosing.append((end, path))
        if name:
            path = (*path[1 - _DEPTH :], name)
        yield Mark(start, path, identifiers=(name,))
    for end, outer in reversed(enclosing):
        yield Mark(end, outer)


def _definitions(data: bytes, language: str) -> list[_Definition]:
    """The definitions of `data` from outside in and top to bottom, leads included."""
    named: dict[int, tuple[Node, list[Node]]] = {}
    wraps: dict[int, Node] = {}
    leads: dict[int, int] = {}
    for captures in _matches(data, language):
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
        found.append(_Definition(start, outer.end_byte, _name(data, node, names)))
    return sorted(found, key=lambda d: (d.start, -d.end))


def _matches(data: bytes, language: str) -> Iterator[dict[str, list[Node]]]:
    """What the language's query captures in `data`.

    Raises:
        TimeoutError: parsing took more processor time than `data` is worth. The recovery from
            errors is quadratic in some inputs, such as those of another language.
        ValueError: `data` is hardly a program of that language.
    """
    from tree_sitter import Parser, QueryCursor  # noqa: PLC0415 - see grammars.grammar

    grammar = grammars.grammar(language)
    allowed_s = PARSE_BASE_S + PARSE_S_PER_BYTE * len(data)
    deadline = time.thread_time() + allowed_s

    calls = count()

    def late(*_: object) -> bool:  # called every few microseconds, which asking the time takes
        return next(calls) % _CALLS_A_LOOK == 0 and time.thread_time() > deadline

    def read(offset: int, _: object) -> bytes:
        return data[offset : offset + _READ_BYTES]

    try:
        tree = Parser(grammar.language).parse(read, progress_callback=late)
    except ValueError:
        raise TimeoutError(f"no {language} syntax tree within {allowed_s:.1f} s") from None
    if _has_wide_error(tree.root_node):
        raise ValueError(f"no {language}: whole stretches of it cannot be parsed")
    cursor = QueryCursor(grammar.query)
    cursor.set_max_start_depth(MAX_DEPTH)
    for _, captures in cursor.matches(tree.root_node):
        yield captures


def _has_wide_error(root: Node) -> bool:
    """Whether some error has so many children that a query, quadratic in them, would not end."""
    waiting = [root] if root.has_error else []
    while waiting:
        node = waiting.pop()
        if node.is_error and node.child_count > _MAX_ERROR_CHILDREN:
            return True
        waiting.extend(child for child in node.children if child.has_error)
    return False


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
