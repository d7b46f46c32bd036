"""Hits that say the same: identical texts, and records of one event that differ in numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kb.model import Hit

RECORD_KINDS = frozenset({"log", "trace"})
"""Kinds of text in which one event is written again and again, with another time or number."""

REPEATED_KINDS = RECORD_KINDS | {"stacks", "tests", "compiler"}
"""Kinds in which the same failure may stand more than once."""

_CHANGING = re.compile(r"0[xX][0-9a-fA-F]+|\d+")
_LETTERS_MIN = 0.5


def find_shape(hit: Hit, terms: Sequence[str]) -> str:
    """What two hits that say the same have in common: a record without its numbers, any other text
    as it is. Numbers that were asked for, and tables of numbers, count in full."""
    if hit.kind not in REPEATED_KINDS:
        return hit.text
    letters = sum(map(str.isalpha, hit.text))
    if letters < _LETTERS_MIN * len("".join(hit.text.split())):
        return hit.text
    asked = [term for term in terms if any(map(str.isdigit, term))]
    if any(term in hit.text for term in asked):
        return hit.text
    return " ".join(_CHANGING.sub("0", hit.text).split())
