"""Logs by entries: never cut inside one, stack traces whole, titles that tell time and pattern."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from kb.chunk import CAP_BYTES, TARGET_BYTES, Mark

_TIMESTAMP = re.compile(
    rb"\W{0,3}(?P<iso>\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d(?::\d\d)?)"
    rb"|\W{0,3}(?P<syslog>[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d)"
    rb"|[^\n\[]{0,80}\[(?P<access>\d{1,2}/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d)"
    rb"|\W{0,3}(?P<clock>\d\d:\d\d:\d\d(?:[.,]\d+)?)"
)
_VARIABLE = re.compile(rb"0x[0-9a-fA-F]+|\b[0-9a-fA-F-]{16,}\b|\d+(?:[.:,]\d+)*|\"[^\"\n]{0,80}\"")
_CONTINUES = (b" ", b"\t", b"Caused by:", b"\r\n", b"\n", b"}", b")", b"]")
_PYTHON_TRACE = b"Traceback (most recent call last):"
_TEMPLATE_BYTES = 160
_INTRODUCTION_BYTES = 1000
"""A Python trace belongs to the message before it, when that is of sane length."""


class _Section:
    """The entries that will share a chunk."""

    def __init__(self, start: int) -> None:
        self.start = start
        self.first_time = self.last_time = b""
        self.templates: Counter[bytes] = Counter()

    def add(self, line: bytes) -> None:
        """Count an entry by its pattern: its first line with every number taken out."""
        stamp = _TIMESTAMP.match(line)
        rest = line
        if stamp:
            time = stamp[stamp.lastgroup or 0]
            self.first_time = self.first_time or time
            self.last_time = time
            rest = line[stamp.end() :]
        self.templates[_VARIABLE.sub(b"<*>", rest[:_TEMPLATE_BYTES]).strip(b" \t\r\n]:,.-")] += 1

    def title(self) -> str:
        """Time span, and what the entries say: the commonest pattern with its count."""
        template, count = self.templates.most_common(1)[0]
        words = template.decode("utf-8", "replace")
        span = self.first_time.decode("ascii", "replace")
        if self.last_time != self.first_time:
            span += f" - {self.last_time.decode('ascii', 'replace')}"
        times = f" x{count}" if count > 1 else ""
        return f"{span} {words}{times}".strip()


def marks(data: bytes, language: str | None = None) -> Iterator[Mark]:
    """A mark for as many entries as make a chunk; one that has a stack trace stands alone."""
    section: _Section | None = None
    for start, end, trace in _entries(data):
        line = data[start : min(end, start + 400)].partition(b"\n")[0]
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
        section.add(line)
    if section is not None:
        yield Mark(section.start, (section.title(),))


def _entries(data: bytes) -> Iterator[tuple[int, int, bool]]:
    """Start and end of each entry, and whether it holds a stack trace: a line and those that
    continue it by their indentation."""
    start, position, trace, python = 0, 0, False, False
    while position < len(data):
        end = data.find(b"\n", position) + 1 or len(data)
        continues = data.startswith(_CONTINUES, position)
        last_of_python = python and not continues
        opens = data.find(_PYTHON_TRACE, position, min(end, position + 400)) >= 0
        joins = opens and not trace and position - start < _INTRODUCTION_BYTES
        if position > start and not (continues or last_of_python or joins):
            yield start, position, trace
            start, trace = position, False
        python = opens or (python and continues)
        trace = trace or opens or (continues and data[position:end].lstrip()[:3] == b"at ")
        if last_of_python or end - start > CAP_BYTES:
            yield start, end, trace
            start, trace = end, False
        position = end
    if start < len(data):
        yield start, len(data), trace


def _trace_title(data: bytes, start: int, end: int, first: bytes) -> tuple[str, ...]:
    """The line that names the error: a Python trace's last, else the first."""
    line = first
    if _PYTHON_TRACE in data[start:end]:
        line = data[max(start, end - 400) : end].rstrip().rpartition(b"\n")[2]
    return (line.decode("utf-8", "replace").strip(),)
