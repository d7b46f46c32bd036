"""Tables by rows: CSV and TSV, and the columns that `ls -l`, `ps` or `kubectl get` print.

Chunks are whole rows, titled by the columns' names, the rows' numbers, and the names of the first
and last row.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from kb.decoding import strip
from kb.packing import TARGET_BYTES, Mark

_ROW = re.compile(rb"(?>(?:[^\"\n]++|\"(?:[^\"]|\"\"){0,3000}+\"|\")*)\n?")
_LINE = re.compile(rb"[^\n]*\n?")
_FIELD = re.compile(rb"\"([^\"\n]{0,60})|([^,;\t\r\n]{0,60})")
_SEPARATOR = re.compile(rb"[,;\t]")
_MAX_COLUMNS = 64
_NAMES_IN_TITLE = 12
_LOOK_BYTES = 1000

_BEFORE_HEADER = (b"Desired=", b"| Status=", b"|/ Err?=", b"total ")
_RULE = re.compile(rb"[+|=\- \t]*-[+|=\- \t]*\r?\n?$")
_MODE = re.compile(rb"[-dlbcps][-rwxsStT]{9}")
_SELECTION = re.compile(rb"[a-z]{2,3} +")
_LAST = frozenset({"COMMAND", "CMD", "NAME", "DESCRIPTION"})
"""Names of last columns that name their rows better than the first column does."""


class Scan:
    """One pass over the rows of a source, or of a part of one: `state` is that of the scan that
    ended where `data` begins."""

    def __init__(self, data: bytes, *, separated: bool, state: str | None = None) -> None:
        self._data = data
        self._separated = separated
        read = json.loads(state or '{"columns": [], "row": 0}')
        self._columns = tuple(map(str, read["columns"]))
        self._row = int(read["row"])
        """The number of the next row."""

    def state(self) -> str:
        """Return what a scan of the next part needs to know."""
        return json.dumps({"columns": self._columns, "row": self._row})

    def marks(self) -> Iterator[Mark]:
        """Yield a mark for each chunk's worth of rows. The header's names are identifiers of
        all."""
        data, position = self._data, 0
        if self._row == 0 and data:
            position = self._read_header()
            yield Mark(0, self._columns_title(), identifiers=self._columns)
            self._row = 1
        row = _ROW if self._separated else _LINE
        while position < len(data):
            start, first_row, first = position, self._row, b""
            while position < len(data):
                found = row.match(data, position)
                assert found is not None
                if position > start and found.end() - start > TARGET_BYTES:
                    break
                last = found.group()[:_LOOK_BYTES]
                first = first or last
                position, self._row = found.end(), self._row + 1
            yield Mark(start, self._title(first_row, first, last), identifiers=self._columns)

    def _read_header(self) -> int:
        """Read the columns from the line above the first row; return where that row begins."""
        data, position = self._data, 0
        if self._separated:
            header = _ROW.match(data)
            assert header is not None
            cells = _SEPARATOR.split(header.group().strip(), _MAX_COLUMNS)
            self._columns = tuple(name for name in map(_field, cells) if name)
            return header.end()
        while position < len(data):
            end = data.find(b"\n", position) + 1 or len(data)
            line = strip(data[position : min(end, position + _LOOK_BYTES)])
            is_rule = _RULE.match(line) is not None
            before = line.startswith(_BEFORE_HEADER) or not line.strip() or is_rule
            if not before:
                if self._columns or _MODE.match(line):
                    return position
                names = line.replace(b"||/", b"").split(None, _MAX_COLUMNS)
                self._columns = tuple(name.decode("utf-8", "replace") for name in names)
            position = end
        return position

    def _columns_title(self) -> tuple[str, ...]:
        names = self._columns[:_NAMES_IN_TITLE]
        more = ", …" if len(self._columns) > _NAMES_IN_TITLE else ""
        return (", ".join(names) + more,) if names else ()

    def _title(self, first_row: int, first: bytes, last: bytes) -> tuple[str, ...]:
        last_row = self._row - 1
        if first_row == last_row:
            return *self._columns_title(), f"row {first_row}: {self._name(first)}"
        names = f"{self._name(first)} … {self._name(last)}"
        return *self._columns_title(), f"rows {first_row}-{last_row}: {names}"

    def _name(self, row: bytes) -> str:
        """Return a row's name: its first field, or the last or second if that is a name."""
        if self._separated:
            return _field(row)
        row = strip(row)
        words = row.split()
        if _MODE.match(row):
            name = row.partition(b" -> ")[0].split(None, 8)[-1].strip()
        elif self._columns[-1:] and self._columns[-1] in _LAST:
            name = b" ".join(row.split(None, len(self._columns) - 1)[-1:])
        elif _SELECTION.match(row) and self._columns[:1] == ("Name",):
            name = words[1]
        else:
            name = words[0] if words else b""
        return name[:60].decode("utf-8", "replace").strip()


def marks(data: bytes, language: str | None = None) -> Iterator[Mark]:
    """Yield the marks of values between separators."""
    return Scan(data, separated=True).marks()


def column_marks(data: bytes, language: str | None = None) -> Iterator[Mark]:
    """Yield the marks of columns between spaces."""
    return Scan(data, separated=False).marks()


def _field(row: bytes) -> str:
    found = _FIELD.match(row.lstrip())
    text = (found.group(1) or found.group(2) or b"") if found else b""
    return text.decode("utf-8", "replace").strip()
