"""YAML by key path, from its indentation: `services > web > environment`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kb.chunkers import outline
from kb.chunks import Mark

_LINE = re.compile(
    rb"^(?P<indent>[ ]*)(?P<dashes>(?:-[ ]+){0,64})"
    rb"(?:(?P<key>\"[^\"\n]{0,200}\"|'[^'\n]{0,200}'|[^\s#\-\"'\[{&*!|>%@`,\n][^:\n]{0,200}?"
    rb"|-[^\s:\n][^:\n]{0,200}?)[ ]*:(?=[ \r\n]|\Z)(?P<value>[^\n]{0,200})"
    rb"|(?P<item>-(?=[ \r\n]))|(?P<scalar>(?<=-[ ])[^\n]{0,80}))?",
    re.MULTILINE,
)
_BLOCK_SCALAR = re.compile(rb"[|>][-+0-9]*[ \t]*(?:#.*)?\r?$")
_DASH = re.compile(rb"-")
_WITHIN_ITEM = 9
"""How much deeper than its item a key may be, in depths, and still be one of the item's own."""
_IDENTITY = re.compile(r"(?:name|id|title|key|label|path|slug)$")


def marks(data: bytes, language: str | None = None) -> Iterator[Mark]:
    """A mark for each key or list item that outgrew its parent's chunk."""
    keys = [(key.start, key.depth, key.name) for key in _Keys(data).found]
    return outline.marks(outline.nest_parts(keys, len(data)))


@dataclass(slots=True)
class _Key:
    """A key or list item. Depth is twice the column, and one more for an item. So an item lies
    within a key of the same column, and outside one right of it."""

    start: int
    depth: int
    name: str


class _Keys:
    """Every key and list item of a source in order; comments and block scalars hold none."""

    def __init__(self, data: bytes) -> None:
        self.found: list[_Key] = []
        self._items: list[tuple[_Key, int]] = []
        position, scalar_indent = 0, -1
        while position < len(data) and len(self.found) < outline.PARTS_MAX:
            end = data.find(b"\n", position) + 1 or len(data)
            line = _LINE.match(data, position, end)
            assert line is not None
            indent = len(line["indent"])
            if scalar_indent >= 0 and indent <= scalar_indent and data[position:end].strip():
                scalar_indent = -1
            if scalar_indent < 0 and (line["key"] or line["dashes"] or line["item"]):
                self._line(line, position, indent)
                if line["key"] and _BLOCK_SCALAR.search(line["value"].lstrip()):
                    scalar_indent = indent + len(line["dashes"])
            position = end

    def _line(self, line: re.Match[bytes], start: int, indent: int) -> None:
        """The list items that a line opens, numbered within their list, and its key."""
        for dash in _DASH.finditer(line["dashes"] + (line["item"] or b"")):
            self._item(start, 2 * (indent + dash.start()) + 1)
        if line["key"]:
            key = _Key(
                start,
                2 * (indent + len(line["dashes"])),
                line["key"].decode("utf-8", "replace").strip("\"'"),
            )
            self._leave(key.depth)
            self.found.append(key)
            if _IDENTITY.match(key.name):
                self._identify(key, line["value"].decode("utf-8", "replace").strip(" \r\"'"))

    def _item(self, start: int, depth: int) -> None:
        self._leave(depth + 1)
        number = 0
        if self._items and self._items[-1][0].depth == depth:
            number = self._items.pop()[1] + 1
        item = _Key(start, depth, f"[{number}]")
        self._items.append((item, number))
        self.found.append(item)

    def _leave(self, depth: int) -> None:
        while self._items and self._items[-1][0].depth >= depth:
            self._items.pop()

    def _identify(self, key: _Key, value: str) -> None:
        """An item is told by the first name or id directly within it."""
        if value and self._items:
            item, number = self._items[-1]
            if item.name == f"[{number}]" and key.depth - item.depth <= _WITHIN_ITEM:
                item.name = f"{item.name} {value}"
