"""Estimates of the number of model tokens of a text."""

from __future__ import annotations

import math
from operator import mul

from base.wordlist import read_rows

TYPE_CHECKING = False
if TYPE_CHECKING:  # a hook loads this module without these
    from collections.abc import Mapping

BYTES_PER_TOKEN = 4
"""The usual rule of thumb for English and code with byte-pair vocabularies of 100k and more."""


def estimate_tokens(content: str | bytes) -> int:
    """Estimate the tokens of `content` from its size in UTF-8; never 0 unless empty."""
    size = len(content) if isinstance(content, bytes) else len(content.encode("utf-8", "replace"))
    return -(-size // BYTES_PER_TOKEN)


(_, *_NAMES), *_ROWS = read_rows(__file__, "tokens.txt")
FAMILIES: Mapping[str, tuple[float, ...]] = {
    family: tuple(float(row[at]) for row in _ROWS) for at, family in enumerate(_NAMES, 1)
}
"""The cost of each thing that `count` counts for a family of models, in tokens."""

DEAREST = "claude-5"
"""The family that needs most tokens for almost any text: what fits its budget fits every other."""


class UnknownFamilyError(ValueError):
    """No family of models has this name."""


def estimate(text: str, family: str) -> int:
    """Estimate the tokens of `text` for a family of models; never 0 unless empty.

    Raises:
        UnknownFamilyError: `FAMILIES` has no such name.
    """
    row = FAMILIES.get(family)
    if row is None:
        known = ", ".join(FAMILIES)
        raise UnknownFamilyError(f"unknown family {family!r}: choose from {known}")
    if not text:
        return 0
    # A lone surrogate has no bytes in UTF-8: it counts as a mark.
    tokens: float = sum(map(mul, count(text.encode("utf-8", "replace")), row))
    return max(1, math.ceil(tokens))


def count(data: bytes) -> tuple[int, ...]:
    """Count the things in a UTF-8 text, in the order of `tokens.txt`."""
    classes = data.translate(_CLASS)
    letters = data.translate(_LETTERS)
    leads = data.translate(_LEAD)
    return (
        len(letters.split()),
        letters.count(b"aaaaa"),
        classes.count(b"A"),
        classes.count(b"Aa"),
        len(data.translate(_DIGITS).split()),
        classes.count(b"000"),
        len(data.translate(_MARKS).split()),
        classes.count(b".."),
        classes.count(b"_"),
        classes.count(b"\n"),
        classes.count(b"\n ") + classes.startswith(b" "),
        classes.count(b"  "),
        *map(leads.count, _LEADS),
    )


def _class_of(byte: int) -> int:
    """Return one byte for all of a class. It is `x` for all bytes beyond ASCII."""
    character = chr(byte)
    if byte >= 0x80:
        return ord("x")
    if character.isalpha():
        return ord("A" if character.isupper() else "a")
    if character.isdigit():
        return ord("0")
    if character in " \t\r\v\f":
        return ord(" ")
    return byte if character in "\n_" else ord(".")


def _lead_of(byte: int) -> int:
    """Return the class of characters that a byte begins, in the order of the rows; 0 for none."""
    if byte in {0xEE, 0xEF}:  # full-width forms are among Chinese
        return _lead_of(0xE3)
    return sum(start <= byte for start in (0xC2, 0xCA, 0xE0, 0xE2, 0xE3, 0xEA, 0xF0))


_CLASS = bytes(map(_class_of, range(256)))
_LETTERS = bytes(ord("a" if found in b"aA" else " ") for found in _CLASS)
_DIGITS = bytes(ord("0" if found in b"0" else " ") for found in _CLASS)
_MARKS = bytes(ord("." if found in b"." else " ") for found in _CLASS)
_LEAD = bytes(map(_lead_of, range(256)))
_LEADS = tuple(bytes([number]) for number in range(1, 8))
