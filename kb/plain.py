"""What a terminal's output says without its colours, carriage returns and the time before a line.

Patterns read this text, and what they find is told in bytes of the output itself.
"""

from __future__ import annotations

import re
from bisect import bisect_left

ESCAPES = re.compile(
    rb"\x1b(?:\[[0-?]{0,40}[ -/]{0,4}[@-~]|\][^\x07\x1b\n]{0,300}(?:\x07|\x1b\\)|[@-Z\\-_])"
)
"""Colours, movements of the cursor, titles and links of terminals."""

_STAMP = (
    rb"\[?(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?"
    rb"|\d\d:\d\d:\d\d(?:[.,]\d{1,9})?|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d)\]?:? "
)
_OMITTED = re.compile(rb"\r+(?=\n)|" + ESCAPES.pattern + rb"|^" + _STAMP, re.MULTILINE)
_STAMPED = re.compile(rb"^" + _STAMP, re.MULTILINE)
_LOOK_BYTES = 4096


class Plain:
    """The text of `data` for patterns: lines end with a line feed, or where one was overwritten.

    `text` is `data` itself where nothing is left out, and shorter otherwise.
    """

    def __init__(self, data: bytes) -> None:
        self.text = data
        self._places: list[int] = []
        self._left_out: list[int] = [0]
        stamped = _STAMPED.search(data, 0, _LOOK_BYTES) is not None
        if stamped or b"\x1b" in data or b"\r\n" in data:
            self._leave_out(data)
        if b"\r" in self.text:
            self.text = self.text.replace(b"\r", b"\n")

    def _leave_out(self, data: bytes) -> None:
        kept: list[bytes] = []
        position = total = 0
        for found in _OMITTED.finditer(data):
            kept.append(data[position : found.start()])
            self._places.append(found.start() - total)
            total += found.end() - found.start()
            self._left_out.append(total)
            position = found.end()
        kept.append(data[position:])
        self.text = b"".join(kept)

    def place(self, at: int) -> int:
        """Where in `data` the text's byte `at` begins, before what is left out there."""
        return at + self._left_out[bisect_left(self._places, at)]


def strip(line: bytes) -> bytes:
    """One line without its escapes."""
    return ESCAPES.sub(b"", line) if b"\x1b" in line else line
