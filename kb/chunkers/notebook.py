"""Jupyter notebooks by cell, over their exact JSON; outputs apart from the code they came from."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kb.packing import Mark

_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[{}\[\]]', re.DOTALL)
_CELL_DEPTH = 2
_TYPE = re.compile(rb'"cell_type"\s*:\s*"(\w+)"')
_FIRST_LINE = re.compile(rb'"source"\s*:\s*\[?\s*"((?:[^"\\]++|\\.){1,120}+)')
_LANGUAGE = re.compile(
    rb'"language_info"\s*:\s*\{(?:[^{}]{0,400}?\{[^{}]{0,400}\})?[^{}]{0,400}?"name"\s*:\s*"(\w+)"'
)


def marks(data: bytes, language: str | None = None) -> Iterator[Mark]:
    """Yield a mark for each cell, titled by the heading above it and its first line."""
    found = _LANGUAGE.search(data)
    code_language = found.group(1).decode() if found else None
    heading = ""
    for number, (start, end) in enumerate(_cells(data), 1):
        cell = data[start : min(end, start + 20_000)]
        kind = _TYPE.search(cell)
        markdown = kind is not None and kind.group(1) == b"markdown"
        line = _first_line(cell)
        if markdown and line.startswith("#"):
            heading = line.lstrip("# ")
        title = (
            heading,
            f"cell {number}" if line.lstrip("# ") == heading else f"cell {number}: {line}",
        )
        yield Mark(
            start, tuple(t for t in title if t), language=None if markdown else code_language
        )
        outputs = cell.find(b'"outputs"')
        if outputs >= 0 and end - start > 400:
            yield Mark(start + outputs, (*title[:1], f"cell {number} outputs"))


def _cells(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each item of the root's `cells` array."""
    depth, start, in_cells = 0, 0, False
    for token in _TOKEN.finditer(data):
        char = data[token.start()]
        if char == 0x22:
            in_cells = in_cells or (depth == 1 and token.group() == b'"cells"')
        elif char in b"{[":
            if in_cells and depth == _CELL_DEPTH:
                start = token.start()
            depth += 1
        else:
            depth -= 1
            if in_cells and depth == _CELL_DEPTH:
                yield start, token.end()
            elif depth < _CELL_DEPTH:
                in_cells = False


def _first_line(cell: bytes) -> str:
    found = _FIRST_LINE.search(cell)
    if found is None:
        return ""
    text = found.group(1).decode("utf-8", "replace")
    return text.partition("\\n")[0].replace('\\"', '"').strip()
