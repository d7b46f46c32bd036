"""Conversion of any user text to a legal full-text query."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from kb import words
from kb.words import fold

_TERM = re.compile(rf"[^\W_]+|[{words.EMOJI}]")
_ACRONYM = re.compile(r"[A-Z]{2,}(?:s|es|d|ed|ing)")
"""An acronym in another form, such as `APIs` or `ORed`: no name of several parts."""

MAX_TERMS = 32
"""The limit on distinct words, taken from the start: more would cost time and find everything."""

NEAR_TOKENS = 24
"""The distance at which the words of a query still count as together."""

_STOP_WORDS = """
a an and are as at be by can do does for from has have how i if in is it its many much my of on or
so that the their then there these this to was were what when where which who why will with you
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""Words of questions rather than of answers: left out as long as another word remains."""


Corrections = Mapping[str, Sequence[str]]
"""Possible meanings of a word of a query, the likeliest first."""


Pair = tuple[str, str]
"""Two words that count more if they are near each other, in full-text syntax."""


def near(*phrases: str) -> str:
    """Return phrases near each other, in any order."""
    return f"NEAR({' '.join(phrases)}, {NEAR_TOKENS})"


@dataclass(frozen=True, slots=True)
class Query:
    """The words of a query."""

    terms: tuple[str, ...]  # in order, each once, as typed; the parts come last
    parts: tuple[str, ...] = ()  # the parts of names among the terms

    def groups(self, corrections: Corrections) -> list[str]:
        """Return an expression a word: the word, its spelling without letters such as ł, and its
        corrections."""
        return [
            " OR ".join((expression(term), *map(quote, _others(term, corrections))))
            for term in self.terms
        ]

    def phrases(self, corrections: Corrections) -> list[tuple[str, ...]]:
        """Return the phrases of each of `groups`, each scored separately."""
        return [
            (*_own_phrases(term), *map(quote, _others(term, corrections))) for term in self.terms
        ]

    def pairs(self, corrections: Corrections) -> tuple[Pair, ...]:
        """Return each two neighbouring words; the same two once."""
        used = [
            quote(corrections.get(term, (term,))[0])
            for term in self.terms
            if term.isascii() or not (words.is_unspaced(term) or words.is_emoji(term))
        ]
        return tuple(dict.fromkeys(pairwise(used)))


def _others(term: str, corrections: Corrections) -> list[str]:
    plain = term if term.isascii() else fold(term)
    return [*([plain] if plain != term else []), *corrections.get(term, ())]


def parse(text: str) -> Query:
    """Return the words of `text`, followed by the parts of those that are names; none if it is only
    punctuation. An accent next to its letter is combined with it."""
    asked = _TERM.findall(unicodedata.normalize("NFC", text))
    found = dict.fromkeys(term.lower() if term.isupper() else term for term in asked)
    terms = [term for term in found if term.lower() not in STOP_WORDS] or list(found)
    typed = {term.lower() for term in terms}
    made_of = dict.fromkeys(part for term in terms for part in _parts(term))
    parts = tuple(one for one in made_of if len(one) > 1 and one not in STOP_WORDS | typed)
    return Query((*terms, *parts)[:MAX_TERMS], parts)


def _parts(term: str) -> list[str]:
    """Return the parts of a name, in lower case."""
    return [] if _ACRONYM.fullmatch(term) else [part.lower() for part in words.name_parts(term)]


def drop_mistyped_parts(query: Query, corrections: Corrections) -> tuple[Query, Corrections]:
    """Leave out the parts of mistyped names, such as `Ti` and `mOut` of `setTimOut`, as a typing
    mistake changes the parts. Those that form a correction stay."""
    kept: dict[str, Sequence[str]] = dict(corrections)
    slips: set[str] = set()
    for name in corrections:
        parts = _parts(name)
        made = next((one for meant in corrections[name] if (one := _make(meant, parts, kept))), {})
        for part in query.parts:
            if part in made:
                kept[part] = () if made[part] == part else (made[part],)
            elif part in parts:
                slips.add(part)
    left = {typed: meant for typed, meant in kept.items() if meant and typed not in slips}
    return Query(tuple(term for term in query.terms if term not in slips), query.parts), left


def _make(meant: str, parts: Sequence[str], corrections: Corrections) -> dict[str, str]:
    """Return what each part stands for in a word that they form; empty if they do not."""
    made = {}
    for part in parts:
        ways = (part, *corrections.get(part, ()))
        made[part] = next((way for way in ways if meant.startswith(way)), "")
        if not made[part]:
            return {}
        meant = meant.removeprefix(made[part])
    return {} if meant else made


def expression(term: str) -> str:
    """Return one word as full-text syntax; in scripts without spaces the pairs of characters, and
    for an emoji its indexed word."""
    phrases = _own_phrases(term)
    return phrases[0] if len(phrases) == 1 else f"({' AND '.join(phrases)})"


def _own_phrases(term: str) -> list[str]:
    """Return the phrases that a chunk with the word must all have."""
    if term.isascii():
        return [quote(term)]
    if words.is_emoji(term):
        return [quote(words.emoji_word(term))]
    if words.is_unspaced(term):
        return [quote(pair) for pair in words.pairs(term)] or [f"{quote(term)} *"]
    return [quote(term)]


def quote(text: str) -> str:
    """Return a string literal of the full-text syntax: nothing in it is an operator."""
    return '"' + text.replace('"', '""') + '"'
