"""Text that is only partly known: private-use characters stand for unknowns and patterns.

A value in the evaluator is an ordinary `str`. A *hole* stands for text that cannot be known before
the program runs. A *glob* stands for a pattern character that is active (a quoted `*` stays a plain
`*`). Concatenation, slicing and regular expressions then work on partly known text without any
special casing.
"""

from __future__ import annotations

import re

WORD = "\ue000"  # exactly one unknown word, never split
LIST = "\ue001"  # unknown text that the shell would split: any number of words
PATHS = "\ue002"  # any number of unknown words that are file names (a listing's output)
FETCHED = "\ue003"  # unknown text that came over the network
DECODED = "\ue004"  # unknown text that came out of a decoder

DECODED_KNOWN = "\ue018"  # a trace on text that is known, but only because it was decoded here

GLOB_STAR = "\ue010"
GLOB_ONE = "\ue011"
GLOB_SET = "\ue012"  # one character out of a bracket expression
GLOB_ANY = "\ue013"  # an extended pattern such as @(a|b)

_RESERVED = re.compile("[\ue000-\ue01f]")
_UNKNOWN = re.compile("[\ue000-\ue017]")
_HOLE = re.compile("[\ue000-\ue004]")
_GLOB = re.compile("[\ue010-\ue013]")
_SPLITTING_HOLE = re.compile("[\ue001-\ue004]")
_SHOWN = {
    WORD: "<?>", LIST: "<?...>", PATHS: "<paths>", FETCHED: "<fetched>", DECODED: "<decoded>",
    GLOB_STAR: "*", GLOB_ONE: "?", GLOB_SET: "[...]", GLOB_ANY: "@(...)", DECODED_KNOWN: "",
}  # fmt: skip
_AS_WORD = str.maketrans({LIST: WORD, PATHS: WORD})


def scrub(text: str) -> str:
    """Replace characters that the marks use: a source with them has them unknown."""
    return _RESERVED.sub(WORD, text)


def mark_glob(path: str) -> str:
    """Return a path with a search's patterns as one that is only partly known."""
    segments = [WORD if part == "**" else part for part in scrub(path).split("/")]
    pattern = re.sub(r"\[[^\]/]*\]", GLOB_SET, "/".join(segments))
    return pattern.replace("*", GLOB_STAR).replace("?", GLOB_ONE)


def is_known(text: str) -> bool:
    """Return True if every character is known."""
    return text.isascii() or _UNKNOWN.search(text) is None


def has_hole(text: str) -> bool:
    """Return True if some of the text is unknown (an unexpanded file pattern does not count)."""
    return not text.isascii() and _HOLE.search(text) is not None


def has_glob(text: str) -> bool:
    """Return True if the text holds an active file name pattern."""
    return _GLOB.search(text) is not None


def splits(text: str) -> bool:
    """Return True if the unknown part may turn into several words."""
    return _SPLITTING_HOLE.search(text) is not None


def is_only_hole(text: str) -> bool:
    """Return True if nothing at all is known of the text."""
    return not text.isascii() and not _HOLE.sub("", text).strip()


def as_one_word(text: str) -> str:
    """Return the text as inside quotes: unknown parts no longer split. Its origin stays."""
    return text.translate(_AS_WORD)


def taint(text: str) -> str:
    """Return the mark of fetched or decoded text, if part of the text is such."""
    return next((mark for mark in (FETCHED, DECODED) if mark in text), "")


def as_written(text: str) -> str:
    """Return text in which `*` and `?` are characters again, if no file names are looked for."""
    return text.replace(GLOB_STAR, "*").replace(GLOB_ONE, "?")


def untrace(text: str) -> str:
    """Return the text without the trace of having been decoded."""
    return text.replace(DECODED_KNOWN, "")


def fill(text: str, filling: str) -> str:
    """Return the text with the same filling in each unknown part."""
    return _UNKNOWN.sub(filling, text)


def show(text: str) -> str:
    """Return the text for users: each mark replaced by its meaning."""
    return _RESERVED.sub(lambda mark: _SHOWN.get(mark.group(), "<?>"), text)
