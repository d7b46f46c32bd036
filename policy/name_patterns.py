"""One name of a gitignore pattern: `*`, `?`, `[a-z]`, and what stands for itself."""

from __future__ import annotations

import functools
import string
from collections.abc import Iterator
from typing import NamedTuple

from policy.wildcards import ANY, ONE, Part, Wildcard

SPECIAL = "*?[\\"
_PRINTED = string.ascii_letters + string.digits + string.punctuation
_CLASSES = {
    "alnum": string.ascii_letters + string.digits,
    "alpha": string.ascii_letters,
    "blank": " \t",
    "cntrl": "".join(map(chr, (*range(32), 127))),
    "digit": string.digits,
    "graph": _PRINTED,
    "lower": string.ascii_lowercase,
    "print": _PRINTED + " ",
    "punct": string.punctuation,
    "space": " \t\n\r\v\f",
    "upper": string.ascii_uppercase,
    "xdigit": string.hexdigits,
}


class _Set(NamedTuple):
    """The characters that a bracket means, as ranges."""

    ranges: tuple[tuple[str, str], ...]
    is_negated: bool

    def __call__(self, char: str) -> bool:
        return any(first <= char <= last for first, last in self.ranges) != self.is_negated


@functools.lru_cache(maxsize=4096)
def name_pattern(text: str) -> Wildcard:
    """The pattern of one name, ready to match."""
    return Wildcard(_parts(text))


def literal_name(name: str) -> str:
    """The pattern of this one name."""
    return "".join(f"\\{char}" if char in SPECIAL else char for char in name)


def _parts(text: str) -> Iterator[Part]:
    at = 0
    while at < len(text):
        char = text[at]
        at += 1
        if char == "*":
            yield ANY
        elif char == "?":
            yield ONE
        elif char == "\\" and at < len(text):
            yield text[at]
            at += 1
        elif char == "[" and (found := _set(text, at)):
            members, at = found
            yield members
        else:
            yield char


def _set(text: str, at: int) -> tuple[_Set, int] | None:
    """The set that begins behind a bracket and where it ends; None if it never does."""
    is_negated = text[at : at + 1] in ("!", "^")
    at += is_negated
    ranges: list[tuple[str, str]] = []
    start = at
    while at < len(text) and (text[at] != "]" or at == start):
        end = text.find(":]", at + 2) if text.startswith("[:", at) else -1
        if end > 0 and text[at + 2 : end] in _CLASSES:
            ranges += [(char, char) for char in _CLASSES[text[at + 2 : end]]]
            at = end + 2
            continue
        first, at = _member(text, at)
        last = first
        if text[at : at + 1] == "-" and text[at + 1 : at + 2] not in ("", "]"):
            last, at = _member(text, at + 1)
        ranges.append((first, last))
    return (_Set(tuple(ranges), is_negated), at + 1) if at < len(text) else None


def _member(text: str, at: int) -> tuple[str, int]:
    """One character of a set, and where the next begins."""
    if text[at] == "\\" and at + 1 < len(text):
        at += 1
    return text[at], at + 1
