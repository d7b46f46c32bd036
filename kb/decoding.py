"""Text from bytes: encodings, and a terminal's output without its colours."""

from __future__ import annotations

import codecs
import re
from bisect import bisect_left

# Patterns read this text; the positions they find are mapped to bytes of the output itself.

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

    `text` is `data` itself if nothing is left out, and shorter otherwise.
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
        """Return where in `data` the text's byte `at` begins, before anything left out there."""
        return at + self._left_out[bisect_left(self._places, at)]


def strip(line: bytes) -> bytes:
    """Return one line without its escapes."""
    return ESCAPES.sub(b"", line) if b"\x1b" in line else line


_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
BINARY_SAMPLE = 8192
"""The number of first bytes by which a file of a folder is judged."""

_SAMPLE = 4096
_MIN_SAMPLE = 8
_ZEROS_IN_TEXT = 0.4
"""In UTF-16 nearly every second byte of Latin text is zero; in other scripts at least blanks."""
_ZEROS_BESIDE = 0.02


def as_utf8(data: bytes) -> tuple[bytes, str | None]:
    """Return `data` in UTF-8 without a byte order mark, and its encoding; None if unchanged.

    Invalid sequences become U+FFFD. Bytes of any other encoding stay as they are.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _recode(data[len(mark) :], encoding), f"{encoding} with a byte order mark"
    unmarked = guess_utf16(data[:_SAMPLE])
    return (data, None) if unmarked is None else (_recode(data, unmarked), unmarked)


def _recode(data: bytes, encoding: str) -> bytes:
    return data if encoding == "utf-8" else data.decode(encoding, "replace").encode()


def is_binary(data: bytes) -> bool:
    """Return whether a file that begins with these bytes is not text."""
    if any(data.startswith(mark) for mark, _ in _MARKS):
        return False
    return b"\0" in data and guess_utf16(data[:_SAMPLE]) is None


def guess_utf16(sample: bytes) -> str | None:
    """Guess the byte order of UTF-16 text without a mark, by the positions of its zeros."""
    if len(sample) < _MIN_SAMPLE or b"\0" not in sample:
        return None
    pairs = len(sample) // 2
    even = sample[0 : 2 * pairs : 2].count(0) / pairs
    odd = sample[1 : 2 * pairs : 2].count(0) / pairs
    for encoding, high, low in (("utf-16-le", odd, even), ("utf-16-be", even, odd)):
        if high >= _ZEROS_IN_TEXT and low <= _ZEROS_BESIDE and _decodes(sample, pairs, encoding):
            return encoding
    return None


def _decodes(sample: bytes, pairs: int, encoding: str) -> bool:
    text = sample[: 2 * pairs].decode(encoding, "replace")
    return "\ufffd" not in text[:-1] and all(c.isprintable() or c.isspace() for c in text[:-1])
