"""Letters that people type as others, though Unicode does not take them apart: ł as l, ß as ss.

Accents the index's tokenizer removes itself. A word with one of these letters is found by itself
and, through the terms beside its text, by its folded form. A query asks for both.
"""

from __future__ import annotations

import re
import unicodedata

LETTERS = {
    "ł": "l",
    "đ": "d",
    "ð": "d",
    "ø": "o",
    "ß": "ss",
    "æ": "ae",
    "œ": "oe",
    "ħ": "h",
    "\N{LATIN SMALL LETTER DOTLESS I}": "i",
    "þ": "th",
    "ŧ": "t",
    "ŋ": "n",
}
"""Each letter in lower case, and what stands for it."""

_CAPITALS = {"ẞ": "SS"} | {
    letter.upper(): plain.upper()
    for letter, plain in LETTERS.items()
    if not letter.upper().isascii()
}
_TABLE = str.maketrans(LETTERS | _CAPITALS)
_ANY = "".join(map(chr, _TABLE))
_WITH_ACCENTS = "ǿǾǽǼ"
_ACCENT = re.compile("[\u0300-\u036f]")
_WORD = re.compile(rf"(?<!\w)[^\W{_ANY}]*+[{_ANY}]\w*+")


def foldable(text: str) -> bool:
    """Whether one of the letters is in `text`."""
    return not text.isascii() and any(letter in text for letter in _ANY + _WITH_ACCENTS)


def fold(text: str) -> str:
    """`text` as it is typed without these letters, and then without accents either."""
    return _without_accents(text).translate(_TABLE) if foldable(text) else text


def fold_words(text: str) -> list[str]:
    """The words of `text` that hold such letters, without them."""
    if not foldable(text):
        return []
    return [word.translate(_TABLE) for word in _WORD.findall(_without_accents(text))]


def _without_accents(text: str) -> str:
    return _ACCENT.sub("", unicodedata.normalize("NFD", text))
