"""Logs by entries: never cut inside one, stack traces whole, titles with time and pattern."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from operator import itemgetter

from kb.decoding import strip
from kb.packing import CAP_BYTES, TARGET_BYTES, Mark

_TIMESTAMP = re.compile(
    rb"\W{0,3}(?P<iso>\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d(?::\d\d)?)"
    rb"|\W{0,3}(?P<syslog>[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d)"
    rb"|[^\n\[]{0,80}\[(?P<access>\d{1,2}/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d)"
    rb"|\[ *(?P<uptime>\d{1,9}\.\d{1,9})\]"
    rb"|\W{0,3}(?P<clock>\d\d:\d\d:\d\d(?:[.,]\d+)?)"
)
_VARIABLE = re.compile(rb"0x[0-9a-fA-F]+|\b[0-9a-fA-F-]{16,}\b|\d+(?:[.:,]\d+)*|\"[^\"\n]{0,80}\"")
_CONTINUES = (b" ", b"\t", b"Caused by:", b"\r\n", b"\n", b"}", b")", b"]")
_PYTHON_TRACE = b"Traceback (most recent call last):"
_TEMPLATE_BYTES = 160
_LINE_BYTES = 400
_SAME_DIGIT = bytes.maketrans(b"123456789", b"0" * 9)
_INTRODUCTION_BYTES = 1000
"""A Python trace belongs to the message before it, when that is of sane length."""


class _Section:
    """The entries that will share a chunk, by their first lines."""

    def __init__(self, start: int) -> None:
        self.start = start
        self.lines: list[bytes] = []

    def title(self) -> str:
        """Return the time span and the commonest pattern, an entry's first line without its
        numbers, with its count."""
        lines = [line.translate(_SAME_DIGIT) for line in self.lines]
        templates: Counter[bytes] = Counter()
        for line, count in Counter(lines).items():
            templates[_shape(line)[1]] += count
        template, count = max(templates.items(), key=itemgetter(1))
        words = template.decode("utf-8", "replace")
        numbered = list(zip(self.lines, lines, strict=True))
        first, last = _first_time(numbered), _first_time(reversed(numbered))
        span = first if last == first else f"{first} - {last}"
        times = f" x{count}" if count > 1 else ""
        return f"{span} {words}{times}".strip()


def _first_time(lines: Iterable[tuple[bytes, bytes]]) -> str:
    """Return the time in the first line that has one; lines come with one digit for all."""
    for line, shaped in lines:
        if (time := _shape(shaped)[0]) is not None:
            return line[time].decode("ascii", "replace")
    return ""


@lru_cache(4096)
def _shape(line: bytes) -> tuple[slice | None, bytes]:
    """Find where a line has its time, and its pattern. Neither depends on which digits there are,
    so a log with all digits made equal has few different lines."""
    stamp = _TIMESTAMP.match(line)
    rest = line if stamp is None else line[stamp.end() :]
    template = _VARIABLE.sub(b"<*>", rest[:_TEMPLATE_BYTES]).strip(b" \t\r\n]:,.-")
    return None if stamp is None else slice(*stamp.span(stamp.lastgroup or 0)), template


def marks(data: bytes, language: str | None = None) -> Iterator[Mark]:
    """Yield a mark for each chunk's worth of entries; one with a stack trace is separate."""
    section: _Section | None = None
    for start, first_end, end, trace in _entries(data):
        line = strip(data[start : min(first_end, start + _LINE_BYTES)])
        if trace:
            if section is not None:
                yield Mark(section.start, (section.title(),))
                section = None
            yield Mark(start, _trace_title(data, start, end, line), whole=True)
            continue
        if section is not None and end - section.start > TARGET_BYTES:
            yield Mark(section.start, (section.title(),))
            section = None
        section = section or _Section(start)
        section.lines.append(line)
    if section is not None:
        yield Mark(section.start, (section.title(),))


def _entries(data: bytes) -> Iterator[tuple[int, int, int, bool]]:
    """Yield each entry, a line and its indented continuation lines: its start, the end of its first
    line, its end, and whether it has a stack trace."""
    start, first_end, position, trace, python = 0, 0, 0, False, False
    next_python = data.find(_PYTHON_TRACE)
    while position < len(data):
        end = data.find(b"\n", position) + 1 or len(data)
        if position == start:
            first_end = end
        continues = data.startswith(_CONTINUES, position)
        if not (continues or python or trace or 0 <= next_python < end):  # nearly every line
            if position > start:
                yield start, first_end, position, False
                start, first_end = position, end
            if end - start > CAP_BYTES:
                yield start, first_end, end, False
                start = end
            position = end
            continue
        last_of_python = python and not continues
        opens = position <= next_python < min(end, position + _LINE_BYTES)
        if 0 <= next_python < end:
            next_python = data.find(_PYTHON_TRACE, end)
        joins = opens and not trace and position - start < _INTRODUCTION_BYTES
        if position > start and not (continues or last_of_python or joins):
            yield start, first_end, position, trace
            start, first_end, trace = position, end, False
        python = opens or (python and continues)
        trace = trace or opens or (continues and data[position:end].lstrip()[:3] == b"at ")
        if last_of_python or end - start > CAP_BYTES:
            yield start, first_end, end, trace
            start, trace = end, False
        position = end
    if start < len(data):
        yield start, first_end, len(data), trace


def _trace_title(data: bytes, start: int, end: int, first: bytes) -> tuple[str, ...]:
    """Return the line that names the error: a Python trace's last, else the first."""
    line = first
    if _PYTHON_TRACE in data[start:end]:
        line = data[max(start, end - 400) : end].rstrip().rpartition(b"\n")[2]
    return (line.decode("utf-8", "replace").strip(),)
