"""Words of a text, beyond the index's tokenizer: parts of identifiers, scripts written without
spaces, emoji, and the vocabulary that typing mistakes are corrected against."""

from __future__ import annotations

import re
import sqlite3
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import chain

from kb.packing import Chunk, ChunkedDocument

# The index's tokenizer removes accents itself. A word with one of these letters is found as written
# and, through the extra terms of its text, by its folded form. A query uses both.

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
"""Each letter in lower case, and its replacement."""

_CAPITALS = {"ẞ": "SS"} | {
    letter.upper(): plain.upper()
    for letter, plain in LETTERS.items()
    if not letter.upper().isascii()
}
_TABLE = str.maketrans(LETTERS | _CAPITALS)
_ANY = "".join(map(chr, _TABLE))
_WITH_ACCENTS = "ǿǾǽǼ"
_ACCENT = re.compile("[\u0300-\u036f]")
_FOLDED_WORD = re.compile(rf"(?<!\w)[^\W{_ANY}]*+[{_ANY}]\w*+")


def foldable(text: str) -> bool:
    """Return whether one of the letters is in `text`."""
    return not text.isascii() and any(letter in text for letter in _ANY + _WITH_ACCENTS)


def fold(text: str) -> str:
    """Return `text` as typed without these letters, and then without accents either."""
    return _without_accents(text).translate(_TABLE) if foldable(text) else text


def fold_words(text: str) -> list[str]:
    """Return the words of `text` that hold such letters, without them."""
    if not foldable(text):
        return []
    return [word.translate(_TABLE) for word in _FOLDED_WORD.findall(_without_accents(text))]


def _without_accents(text: str) -> str:
    return _ACCENT.sub("", unicodedata.normalize("NFD", text))


_MIXED_CASE = re.compile(r"(?:(?:[a-z0-9]++|[A-Z][a-z0-9]++)[A-Z]|[A-Z]{2,}+[a-z])[A-Za-z0-9]*+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003134f]+"
)
"""Thai, Lao, Burmese, Khmer, Japanese, Chinese and Korean."""

EMOJI = (
    "\u231a\u231b\u23e9-\u23fa\u2600-\u27bf\u2b00-\u2bff\U0001f100-\U0001f3fa\U0001f400-\U0001faff"
)
"""Pictures that stand for words, as characters of a regular expression. Modifiers of the previous
one (tone of skin, joiner, style) are not included."""

_EMOJI = re.compile(f"[{EMOJI}]")

SQL_NAME = "with_name_parts"
"""SQL's name for `with_name_parts`. Every connection to a store needs it."""

_NAME = re.compile(r"(?<![A-Za-z0-9])(?=[a-z0-9]*[A-Z0-9])[A-Za-z0-9]{2,}")
"""Possible names of several parts; a word in lower case is not one."""

_WORD = re.compile(r"[^\W\d_]+")
_WORD_LENGTHS = range(4, 33)
"""Shorter words are too similar to others, longer ones are not words."""

_CASES = bytes(
    ord("A" if chr(byte).isupper() else "a" if chr(byte).islower() else "0")
    if byte < 0x80 and chr(byte).isalnum()
    else 0x20
    for byte in range(256)
)
"""The case of each ASCII letter, digits, and a blank for all else."""

_LETTERS = bytes(
    byte if byte >= 0x80 else ord(chr(byte).lower()) if chr(byte).isalpha() else 0x20
    for byte in range(256)
)
"""Each ASCII letter in lower case, the bytes of other characters, and a blank for the rest."""


_BLOCK = 200
"""Chunks whose words are looked for at once: a split text takes ten times its memory."""


def index_terms(text: str, identifiers: Iterable[str] = ()) -> str:
    """Return extra words for finding `text`: the parts of its mixed-case identifiers, its emoji,
    and words with letters such as ł as typed without. Also every pair of characters in scripts that
    the tokenizer cannot divide into words."""
    terms = dict.fromkeys(chain.from_iterable(map(_parts, _find_mixed_case(text))))
    if not text.isascii():
        terms.update(dict.fromkeys(pairs(text)))
        terms.update(dict.fromkeys(map(emoji_word, _EMOJI.findall(text))))
        terms.update(dict.fromkeys(fold_words(text)))
    terms.update(dict.fromkeys(identifiers))
    return " ".join(terms)


def _find_mixed_case(text: str) -> list[bytes]:
    """Find the words in which case changes, and some others. The change is looked for in the cases
    alone, as plain bytes: that is ten times as fast as an expression over the text."""
    data = text.encode("utf-8", "replace")
    cases = data.translate(_CASES)
    names = []
    for change in (b"aA", b"0A", b"AAa"):
        at = cases.find(change)
        while at >= 0:
            end = cases.find(b" ", at)
            end = len(cases) if end < 0 else end
            names.append(data[cases.rfind(b" ", 0, at) + 1 : end])
            at = cases.find(change, end)
    return names


@lru_cache(8192)
def _parts(name: bytes) -> tuple[str, ...]:
    word = name.decode()
    return tuple(_PART.findall(word)) if _MIXED_CASE.fullmatch(word) else ()


def with_search_terms(document: ChunkedDocument) -> ChunkedDocument:
    """Return the document with the terms of every chunk that lacks them."""
    if all(chunk.search_terms is not None for chunk in document.chunks):
        return document
    chunks = tuple(
        replace(chunk, search_terms=index_terms(chunk.text, chunk.identifiers))
        if chunk.search_terms is None
        else chunk
        for chunk in document.chunks
    )
    return replace(document, chunks=chunks)


def vocabulary_of(chunks: Iterable[Chunk]) -> frozenset[str]:
    """Return the distinct words of all chunks."""
    words: set[str] = set()
    texts = [chunk.text for chunk in chunks]
    for at in range(0, len(texts), _BLOCK):
        words |= vocabulary("\n".join(texts[at : at + _BLOCK]))
    return frozenset(words)


def name_parts(name: str) -> list[str]:
    """Return the parts of a name with changes of case or digits: `getUTF8Text` as get, UTF, 8,
    Text. Empty if it has only one."""
    parts = _PART.findall(name) if name.isascii() and name.isalnum() else []
    return parts if len(parts) > 1 else []


def with_name_parts(title: str) -> str:
    """Return a title or label as it is indexed: followed by the parts of the names in it."""
    parts = dict.fromkeys(chain.from_iterable(map(name_parts, _NAME.findall(title))))
    return f"{title} {' '.join(parts)}" if parts else title


def register(db: sqlite3.Connection) -> None:
    """Make `with_name_parts` available to the connection, as `SQL_NAME`."""
    db.create_function(SQL_NAME, 1, with_name_parts, deterministic=True)


def pairs(text: str) -> Iterator[str]:
    """Yield each two neighbouring characters of every run in an unspaced script."""
    for run in _UNSPACED.findall(text):
        for at in range(len(run) - 1):
            yield run[at : at + 2]


def is_unspaced(text: str) -> bool:
    return _UNSPACED.fullmatch(text) is not None


def is_emoji(text: str) -> bool:
    """Return whether `text` is one emoji."""
    return _EMOJI.fullmatch(text) is not None


def emoji_word(emoji: str) -> str:
    """Return the word by which an emoji is indexed: the tokenizer drops emoji."""
    return f"emoji{ord(emoji)}"


def vocabulary(text: str) -> frozenset[str]:
    """Return the distinct words of `text`, lower case, that are long enough to be misspelt."""
    distinct = set(text.encode("utf-8", "replace").translate(_LETTERS).split())
    words = b" ".join(distinct).decode("utf-8", "replace")
    found = words.split() if words.isascii() else _WORD.findall(words.lower())
    return frozenset(word for word in found if len(word) in _WORD_LENGTHS)
