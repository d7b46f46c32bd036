"""What a text is counted by for an estimate of tokens: each count is in proportion to some of them.

Byte-pair vocabularies have common words as one token, with the blank before; rare words, capitals
and runs of consonants take more, and so do scripts other than the Latin one.
"""

from __future__ import annotations

import re
from typing import NamedTuple

LONG_LETTERS = 6
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[A-Z]")
_DIGITS = re.compile(r"[0-9]{1,3}")
_TITLED = re.compile(r"[A-Z][a-z]+")
_CAPITALS = re.compile(r"[A-Z]{2,}(?![a-z])")
_MARK_RUNS = re.compile(r"[!-/:-@\[-`{-~]+")
_MARKS = re.compile(r"([!-/:-@\[-`{-~])\1*")
_LINE_ENDS = re.compile(r"\n+")
_INDENTS = re.compile(r"(?<=\n)[ \t]+")
_GAPS = re.compile(r"(?<=[^\n \t])(?:  +|\t+)")
_CLUSTERS = re.compile(r"[bcdfghjklmnpqrstvwxz]{4}")
_ACCENTED = re.compile("[\u0080-\u024f]")
_ALPHABETS = re.compile("[\u0250-\u06ff]")
_IDEOGRAPHS = re.compile("[\u3000-\u9fff\uac00-\ud7af\uff00-\uffef]")
_BEYOND = re.compile("[\u0700-\U0010ffff]")


class TokenCounts(NamedTuple):
    """How often a text has what takes tokens. Words are parts of names, split where case changes;
    `long` is letters beyond six, `middle` words of four to six letters, `titled` words with one
    capital, `capitals` letters of words in capitals, `clusters` runs of four consonants, `marks`
    signs of punctuation, those alike and side by side as one, which is how rules are drawn."""

    words: float
    long: float
    middle: float
    titled: float
    capitals: float
    clusters: float
    digit_groups: float
    mark_runs: float
    marks: float
    line_ends: float
    indents: float
    gaps: float
    accented: float
    alphabets: float
    ideographs: float
    others: float


def count(text: str) -> TokenCounts:
    """Count a text, in time that grows with its length alone."""
    words = _WORD.findall(text)
    lengths = list(map(len, words))
    plain = text.isascii()
    ideographs = 0 if plain else len(_IDEOGRAPHS.findall(text))
    return TokenCounts(
        words=len(words),
        long=sum(size - LONG_LETTERS for size in lengths if size > LONG_LETTERS),
        middle=sum(4 <= size <= LONG_LETTERS for size in lengths),
        titled=len(_TITLED.findall(text)),
        capitals=sum(map(len, _CAPITALS.findall(text))),
        clusters=len(_CLUSTERS.findall(text.lower())),
        digit_groups=len(_DIGITS.findall(text)),
        mark_runs=len(_MARK_RUNS.findall(text)),
        marks=len(_MARKS.findall(text)),
        line_ends=len(_LINE_ENDS.findall(text)),
        indents=len(_INDENTS.findall(text)),
        gaps=len(_GAPS.findall(text)),
        accented=0 if plain else len(_ACCENTED.findall(text)),
        alphabets=0 if plain else len(_ALPHABETS.findall(text)),
        ideographs=ideographs,
        others=0 if plain else len(_BEYOND.findall(text)) - ideographs,
    )
