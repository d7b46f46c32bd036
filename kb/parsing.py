"""Programs parsed within bounds of size, time and errors, and the definitions in them."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from kb import grammars

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_DEPTH = 200
"""Definitions deeper in the syntax tree belong to the one around them. A query is quadratic in the
depth of a tree, and some operators nest once per operand."""

_SPACE = b" \t\r\n"
_NAME_BYTES = 200


class Definition(NamedTuple):
    """A definition in bytes."""

    start: int  # where the comments above it begin
    end: int
    name: str
    node: Node  # its syntax


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
    """Return where the comments and attributes directly above `start` begin."""
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
    """Return the definition's name, without a C declarator's stars and parameters."""
    if not names:
        field = node.child_by_field_name("name")
        names = [field] if field is not None else []
    parts = []
    for part in names:
        start = part.start_byte
        text = data[start : min(part.end_byte, start + _NAME_BYTES)].decode("utf-8", "replace")
        parts.append(" ".join(text.partition("(")[0].split()).strip("*&\"' "))
    return ".".join(dict.fromkeys(p for p in parts if p))


PARSE_BYTES = 2 * 1024 * 1024
"""Larger files are data or generated: they are cut by lines, as a syntax tree of them costs some
fifty times their size in memory."""

PARSE_LINE_BYTES = 16_384
"""Longer lines are generated too. Scanners that need their column read the line from its start each
time, and nothing can stop them: minutes for 100 KB."""

PARSE_BASE_S = 0.25
PARSE_S_PER_BYTE = 2e-6
"""Processor time for one parse: real programs take a twentieth of it."""

END_TIMES = 2.0
"""After this multiple of that time, a worker ends. A parser checks the time between its steps, and
one step may be quadratic in the bytes read: half a minute for 90 KB of `a<` as Java."""

SMALL_BYTES = 262_144
"""A worker parses this much without checking the time, which takes a third of it: nearly all ends
at once, and the rest ends with the worker."""

_READ_BYTES = 65_536
_MAX_ERROR_CHILDREN = 4000


def is_parsed(data: bytes, language: str | None) -> bool:
    """Return whether a parser is used; other sources are cut by lines alone."""
    if language not in grammars.QUERIES or len(data) > PARSE_BYTES:
        return False
    return max(map(len, data.split(b"\n"))) <= PARSE_LINE_BYTES


def parse(data: bytes, language: str) -> Node:
    """Return the root of the syntax tree of `data`.

    Raises:
        TimeoutError: parsing took more processor time than `data` is worth. The recovery from
            errors is quadratic in some inputs, such as those of another language.
        ValueError: `data` is hardly a program of that language.
    """
    from tree_sitter import Parser  # noqa: PLC0415 - see grammars.grammar

    grammar, _ = grammars.grammar(language)
    allowed_s = PARSE_BASE_S + PARSE_S_PER_BYTE * len(data)
    deadline = time.thread_time() + allowed_s
    soonest = time.monotonic() + allowed_s

    def late(*_: object) -> bool:  # between two calls lie microseconds, or a tenth of a second
        # No processor time is longer than the time itself, which takes a tenth as long to ask.
        return time.monotonic() > soonest and time.thread_time() > deadline

    def read(offset: int, _: object) -> bytes:
        return data[offset : offset + _READ_BYTES]

    try:
        with _ending_worker(END_TIMES * allowed_s) as is_ended:
            if is_ended and len(data) <= SMALL_BYTES:
                tree = Parser(grammar).parse(data)
            else:
                tree = Parser(grammar).parse(read, progress_callback=late)
    except ValueError:
        raise TimeoutError(f"no {language} syntax tree within {allowed_s:.1f} s") from None
    if _has_wide_error(tree.root_node):
        raise ValueError(f"not {language}: large parts of it cannot be parsed")
    return tree.root_node


@contextmanager
def _ending_worker(seconds: float) -> Iterator[bool]:
    """Make the timer that ends a worker fire after this processor time at the latest, and report
    whether there is one.

    If no such timer runs, as in every other process, none is started.
    """
    left_s, _ = signal.getitimer(signal.ITIMER_PROF)
    if not 0 < seconds < left_s:
        yield left_s > 0
        return
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield True
    finally:
        unused_s, _ = signal.getitimer(signal.ITIMER_PROF)
        signal.setitimer(signal.ITIMER_PROF, left_s - seconds + unused_s)


def _has_wide_error(root: Node) -> bool:
    """Return whether an error has so many children that a query would not end."""
    waiting = [root] if root.has_error else []
    while waiting:
        node = waiting.pop()
        if node.is_error and node.child_count > _MAX_ERROR_CHILDREN:
            return True
        waiting.extend(child for child in node.children if child.has_error)
    return False
