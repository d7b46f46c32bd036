"""One name of a gitignore pattern: `*`, `?`, `[a-z]`, and what stands for itself."""

from __future__ import annotations

import functools
import re
import string
from collections.abc import Iterator
from typing import NamedTuple

from policy.wildcards import ANY, ONE, Part, Wildcard

SPECIAL = "*?[\\"
_PRINTED = string.ascii_letters + string.digits + string.punctuation
CLASSES = {
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
# Compiled where there is a bracket; its first `]` closes nothing.
_CHAR = r"(?:\\.|[^\]\\])"
_CLASS = rf"\[:(?:{'|'.join(CLASSES)}):\]"
_MEMBER = rf"(?s)({_CLASS})|({_CHAR})(?:-({_CHAR}))?"
_BRACKET = (
    rf"(?s)\[((?>[!^]?))(?:(\])(?>(?:-({_CHAR}))?)|(?!\]))"
    rf"((?:{_CLASS}|{_CHAR}(?:-{_CHAR})?)*+)\]"
)


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
        elif char == "[" and (found := re.compile(_BRACKET).match(text, at - 1)):
            at = found.end()
            yield _set(found)
        else:
            yield char


def _set(bracket: re.Match[str]) -> _Set:
    negation, first, last, members = bracket.group(1, 2, 3, 4)
    ranges = [(first, (last or first)[-1])] if first else []
    for name, first, last in re.findall(_MEMBER, members):
        ranges += [(char, char) for char in CLASSES[name[2:-2]]] if name else []
        ranges += [(first[-1], (last or first)[-1])] if first else []
    return _Set(tuple(ranges), bool(negation))
