"""CSV and TSV by records: whole rows, titled by their numbers and first fields."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kb.chunks import TARGET_BYTES, Mark

_ROW = re.compile(rb"(?>(?:[^\"\n]++|\"(?:[^\"]|\"\"){0,3000}+\"|\")*)\n?")
_FIELD = re.compile(rb"\"([^\"\n]{0,60})|([^,;\t\r\n]{0,60})")
_SEPARATOR = re.compile(rb"[,;\t]")
_MAX_COLUMNS = 64


def marks(data: bytes, language: str | None = None) -> Iterator[Mark]:
    """A mark for as many rows as make a chunk. The header's names are identifiers of every one."""
    header = _ROW.match(data)
    if header is None or not header.group():
        return
    names = [_field(cell) for cell in _SEPARATOR.split(header.group().strip(), _MAX_COLUMNS)]
    columns = tuple(name for name in names if name)
    yield Mark(0, ("header",), identifiers=columns)
    position, row = header.end(), 1
    while position < len(data):
        start, first_row, first = position, row, b""
        while position < len(data):
            found = _ROW.match(data, position)
            assert found is not None
            if position > start and found.end() - start > TARGET_BYTES:
                break
            last = found.group()[:100]
            first = first or last
            position, row = found.end(), row + 1
        yield Mark(start, (_title(first_row, row - 1, first, last),), identifiers=columns)


def _title(first_row: int, last_row: int, first: bytes, last: bytes) -> str:
    if first_row == last_row:
        return f"row {first_row}: {_field(first)}"
    return f"rows {first_row}-{last_row}: {_field(first)} … {_field(last)}"


def _field(row: bytes) -> str:
    found = _FIELD.match(row.lstrip())
    text = (found.group(1) or found.group(2) or b"") if found else b""
    return text.decode("utf-8", "replace").strip()
