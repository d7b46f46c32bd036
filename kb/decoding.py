"""Bytes as UTF-8: byte order marks, and UTF-16 that has none."""

from __future__ import annotations

import codecs

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
BINARY_SAMPLE = 8192
"""By so many of its first bytes a file of a folder is judged."""

_SAMPLE = 4096
_MIN_SAMPLE = 8
_ZEROS_IN_TEXT = 0.4
"""Of Latin text in UTF-16 nearly every second byte is zero, of other scripts' at least blanks."""
_ZEROS_BESIDE = 0.02


def as_utf8(data: bytes) -> tuple[bytes, str | None]:
    """`data` in UTF-8 without a byte order mark, and what it was in; None where it is unchanged.

    What its encoding does not allow becomes U+FFFD. Bytes of any other encoding stay as they are.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _recode(data[len(mark) :], encoding), f"{encoding} with a byte order mark"
    unmarked = guess_utf16(data[:_SAMPLE])
    return (data, None) if unmarked is None else (_recode(data, unmarked), unmarked)


def _recode(data: bytes, encoding: str) -> bytes:
    return data if encoding == "utf-8" else data.decode(encoding, "replace").encode()


def is_binary(data: bytes) -> bool:
    """Whether a file that begins so holds something else than text."""
    if any(data.startswith(mark) for mark, _ in _MARKS):
        return False
    return b"\0" in data and guess_utf16(data[:_SAMPLE]) is None


def guess_utf16(sample: bytes) -> str | None:
    """The byte order of UTF-16 text that does not say it, told by where its zeros stand."""
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
