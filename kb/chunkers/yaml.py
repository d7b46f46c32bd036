"""YAML by key path, from its indentation: `services > web > environment`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kb.chunk import Mark
from kb.chunkers import outline

_LINE = re.compile(
    rb"^(?P<indent>[ ]*)(?P<dashes>(?:-[ ]+)*)"
    rb"(?:(?P<key>\"[^\"\n]{0,200}\"|'[^'\n]{0,200}'|[^\s#\-\"'\[{&*!|>%@`,\n][^:\n]{0,200}?"
    rb"|-[^\s:\n][^:\n]{0,200}?)[ ]*:(?=[ \r\n]|\Z)(?P<value>[^\n]{0,200})"
    rb"|(?P<item>-(?=[ \r\n]))|(?P<scalar>(?<=-[ ])[^\n]{0,80}))?",
    re.MULTILINE,
)
_BLOCK_SCALAR = re.compile(rb"[|>][-+0-9]*[ \t]*(?:#.*)?\r?$")
_IDENTITY = re.compile(r"(?:name|id|title|key|label|path|slug)$")


def marks(data: bytes, language: str | None = None) -> Iterator[Mark]:
    """A mark for each key or list item that outgrew its parent's chunk."""
    return outline.marks(outline.nested(_keys(data), len(data)))


def _keys(data: bytes) -> Iterator[tuple[int, int, str]]:
    """Start, depth and name of every key and list item; block scalars and comments have none."""
    items: list[tuple[int, int]] = []
    position, scalar_indent = 0, -1
    while position < len(data):
        end = data.find(b"\n", position) + 1 or len(data)
        found = _LINE.match(data, position, end)
        assert found is not None
        indent = len(found["indent"])
        blank = not data[position:end].strip()
        if scalar_indent >= 0 and not blank and indent <= scalar_indent:
            scalar_indent = -1
        if not blank and scalar_indent < 0:
            yield from _line_keys(found, position, indent, items)
            if found["key"] and _BLOCK_SCALAR.search(found["value"].lstrip()):
                scalar_indent = indent + len(found["dashes"])
        position = end


def _line_keys(
    found: re.Match[bytes], start: int, indent: int, items: list[tuple[int, int]]
) -> Iterator[tuple[int, int, str]]:
    """The list items that a line opens, numbered within their list, and its key."""
    key = found["key"].decode("utf-8", "replace").strip("\"'") if found["key"] else ""
    dashes = found["dashes"].count(b"-") + (found["item"] is not None)
    while items and items[-1][0] > indent:
        items.pop()
    if not dashes and items and items[-1][0] == indent:
        items.pop()
    for nth in range(dashes):
        depth = indent + 2 * nth
        if items and items[-1][0] == depth:
            items[-1] = (depth, items[-1][1] + 1)
        else:
            items.append((depth, 0))
        name = f"[{items[-1][1]}]"
        if nth == dashes - 1 and key and _IDENTITY.match(key):
            name = f"{name} {found['value'].decode('utf-8', 'replace').strip()}"
        yield start, 2 * depth, name
    if key:
        yield start, 2 * (indent + len(found["dashes"])) + 1, key
