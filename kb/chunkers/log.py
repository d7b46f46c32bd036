"""Logs: cut between entries, with every stack trace whole where it fits."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kb.chunk import Mark

_ANCHOR = re.compile(
    rb"Traceback \(most recent call last\):|\n[ \t]+at [^\n]+|\ngoroutine \d+ \["
    rb"|\n   \d+: [^\n]+\n +at "
)
_INDENTED = re.compile(rb"(?:(?:[ \t][^\n]*|Caused by: [^\n]*|)\n)*")
_LAST_LINE = re.compile(rb"[^\n]*\n?")
_TRACE_LINES_BYTES = 16_384


def marks(data: bytes, language: str | None = None) -> Iterator[Mark]:
    """A mark where a stack trace starts, titled by the error it ends in, and one where it ends."""
    position = 0
    while anchor := _ANCHOR.search(data, position):
        start, end, title = _trace(data, anchor)
        start = max(start, position)
        yield Mark(start, (title,), whole=True)
        yield Mark(end)
        position = max(end, anchor.end())


def _trace(data: bytes, anchor: re.Match[bytes]) -> tuple[int, int, str]:
    """Where the trace around `anchor` starts and ends, and the line that says what went wrong."""
    at = anchor.start()
    python = data.startswith(b"Traceback", at)
    line_start = data.rfind(b"\n", 0, at) + 1
    body = data.find(b"\n", at if python else at + 1) + 1 or len(data)
    indented = _INDENTED.match(data, body, body + _TRACE_LINES_BYTES)
    end = indented.end() if indented else body
    error_at = line_start
    if python:
        error_at = end
        last = _LAST_LINE.match(data, end)
        end = last.end() if last else end
    error = _LAST_LINE.match(data, error_at, error_at + 300)
    title = error.group().decode("utf-8", "replace").strip() if error else ""
    return line_start, end, title
