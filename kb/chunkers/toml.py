"""TOML, INI and properties by table and key: `[tool.ruff] > select`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kb.chunkers import outline
from kb.chunks import Mark

_TABLE = re.compile(rb"[ \t]*\[{1,2}[ \t]*([^\]\n]{1,200}?)[ \t]*\]{1,2}[ \t]*(?:[#;].*)?\r?\n?$")
_KEY = re.compile(rb"[ \t]{0,8}([\w.\"'-][\w. \"'/-]{0,120}?)[ \t]*[=:]")
_QUOTES = (b'"""', b"'''")


def marks(data: bytes, language: str | None = None) -> Iterator[Mark]:
    """A mark a table, and within one that outgrew a chunk a mark a key or run of keys."""
    return outline.marks(outline.nest_parts(_names(data), len(data)))


def _names(data: bytes) -> Iterator[tuple[int, int, str]]:
    position, quote = 0, b""
    while position < len(data):
        end = data.find(b"\n", position) + 1 or len(data)
        line = data[position:end]
        if quote:
            if quote in line:
                quote = b""
        elif table := _TABLE.match(line):
            yield position, 0, table.group(1).decode("utf-8", "replace").replace('"', "")
        elif key := _KEY.match(line):
            yield position, 1, key.group(1).decode("utf-8", "replace").strip("\"'")
            quote = next((q for q in _QUOTES if line.count(q) % 2), b"")
        position = end
