"""Globs of names: read from gitignore's or a shell's spelling, and matched without backtracking.

Rules and ignore files come with a project, and their author chooses the texts as well. A
backtracking regular expression with twenty stars could block the process for years. Paths are up to
the callers: each joins names by its rules.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Sequence

ANY = object()  # any text, also none
ONE = object()  # any one character
Part = object | str | re.Pattern[str]
"""ANY, ONE, one character, or an expression of a set of characters."""

SPECIAL = "*?[\\"
CLASSES = {  # as ranges, in the form of tr's
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "blank": "\t-\t - ", "cntrl": "\0-\x1f\x7f-\x7f",
    "digit": "0-9", "graph": "!-~", "lower": "a-z", "print": " -~", "punct": "!-/:-@[-`{-~",
    "space": "\t-\r - ", "upper": "A-Z", "xdigit": "0-9A-Fa-f",
}  # fmt: skip


NOTHING = re.compile("(?!)")


def _compile_set(ranges: Iterable[tuple[str, str]], *, is_negated: bool) -> re.Pattern[str]:
    """Return the characters that a bracket means; a range that ends before it begins has none."""
    members = "".join("-".join(map(re.escape, pair)) for pair in ranges if pair[0] <= pair[1])
    if not members:
        return re.compile("(?s:.)") if is_negated else NOTHING
    return re.compile(f"[^{members}]" if is_negated else f"[{members}]")


def parse_name(text: str, *, is_strict: bool = False) -> Iterator[Part]:
    """Yield the parts of one name of a gitignore pattern. Malformed parts stand for themselves, so
    that a rule matches more rather than less. If `is_strict`, they fit nothing, as for git."""
    at = 0
    while at < len(text):
        char = text[at]
        at += 1
        if char == "*":
            yield ANY
        elif char == "?":
            yield ONE
        elif char == "\\" and (is_strict or at < len(text)):
            yield text[at] if at < len(text) else NOTHING
            at += 1
        elif char == "[" and (found := _read_set(text, at, is_strict)):
            at = found[1]
            yield found[0]
        else:
            yield NOTHING if char == "[" and is_strict else char


def parse_shell_name(text: str) -> Iterator[Part]:
    """Yield the parts of a shell's glob, as `fnmatch` reads it: a backslash escapes nothing."""
    at = 0
    while at < len(text):
        char = text[at]
        at += 1
        end = text.find("]", at + 1 + (text[at : at + 1] == "!")) if char == "[" else -1
        if end > 0:
            is_negated = text[at] == "!"
            # Such a bracket knows neither escapes nor classes.
            members = re.findall(r"(?s)(.)(?:-(.))?", text[at + is_negated : end])
            ranges = ((first, last or first) for first, last in members)
            yield _compile_set(ranges, is_negated=is_negated)
            at = end + 1
        else:
            yield {"*": ANY, "?": ONE}.get(char, char)


def _read_set(text: str, at: int, is_strict: bool) -> tuple[re.Pattern[str], int] | None:
    """Return the set that begins after a bracket, and where it ends; None if it is malformed."""
    is_negated = text[at : at + 1] in ("!", "^")
    at += is_negated
    start, ranges = at, list[tuple[str, str]]()
    while text[at : at + 1] != "]" or at == start:
        if at >= len(text):
            return None
        if text.startswith("[:", at) and (end := text.find(":]", at + 2)) > 0:
            if ends := CLASSES.get(text[at + 2 : end]):
                ranges += zip(ends[::3], ends[2::3], strict=True)
                at = end + 2
                continue
            if is_strict:
                return None
        first, at = _read_member(text, at)
        last = first
        if text[at : at + 1] == "-" and text[at + 1 : at + 2] not in ("", "]"):
            last, at = _read_member(text, at + 1)
        ranges.append((first, last))
    return _compile_set(ranges, is_negated=is_negated), at + 1


def _read_member(text: str, at: int) -> tuple[str, int]:
    """Return one character of a set, and where the next begins."""
    if text[at] == "\\" and at + 1 < len(text):
        at += 1
    return text[at], at + 1


class Wildcard:
    """A pattern's states, as the bits of a number: bit n means that its first n parts match.

    A star is not a part: the state before it stays. So one step a character follows all ways at
    once.
    """

    __slots__ = ("_accepted", "_end", "_parts", "_staying")

    def __init__(self, parts: Iterable[Part]) -> None:
        self._parts: list[Part] = []
        self._staying = 0
        for part in parts:
            if part is ANY:
                self._staying |= 1 << len(self._parts)
            else:
                self._parts.append(part)
        self._end = 1 << len(self._parts)
        self._accepted: dict[str, int] = {}

    def meets(self, text: Iterable[Part]) -> bool:
        """Return whether a text fits; if it is partly unknown, with ANY and ONE in it, whether it
        may."""
        states = 1
        for part in text:
            if part is ANY:
                states = (self._end << 1) - (states & -states)  # from the first on, each
            else:
                states = ((states & self._of(part)) << 1) | (states & self._staying)
            if not states:
                return False
        return bool(states & self._end)

    def _of(self, given: Part) -> int:
        """Return the states after a character."""
        if given is ONE:
            return self._end - 1
        assert isinstance(given, str)
        known = self._accepted.get(given)
        if known is None:
            met = (bit for bit, part in enumerate(self._parts) if _accepts(part, given))
            known = self._accepted[given] = sum(1 << bit for bit in met)
        return known


def _accepts(part: Part, char: str) -> bool:
    if isinstance(part, re.Pattern):
        return part.fullmatch(char) is not None
    return part is ONE or part == char


@functools.lru_cache(maxsize=4096)
def name_pattern(text: str) -> Wildcard:
    """Return the pattern of one name of a gitignore pattern, ready to match."""
    return Wildcard(parse_name(text))


def literal_name(name: str) -> str:
    """Return the gitignore pattern of this one name."""
    return "".join(f"\\{char}" if char in SPECIAL else char for char in name)


def is_made_of(pieces: Sequence[str], text: str) -> bool:
    """Return whether a text has the pieces in this order, from its start to its end, with any text
    between them: `pattern.split("*")` against it."""
    first, last = pieces[0], pieces[-1]
    if len(pieces) == 1:
        return text == first
    at, end = len(first), len(text) - len(last)
    if at > end or not text.startswith(first) or not text.endswith(last):
        return False
    for piece in pieces[1:-1]:
        found = text.find(piece, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return True


def to_expression(parts: Iterable[Part], *, crosses: bool = False) -> str:
    """Return parts as a regular expression that never backtracks; a star `crosses` slashes. The
    text between two stars is taken where it is first found (an atomic group), which leaves most for
    the rest."""
    any_one = "." if crosses else "[^/]"
    pieces = [""]
    for part in parts:
        if part is ANY:
            pieces.append("")
        elif part is ONE:
            pieces[-1] += any_one
        elif isinstance(part, re.Pattern):
            pieces[-1] += part.pattern if crosses else f"(?!/){part.pattern}"
        else:
            pieces[-1] += re.escape(str(part))
    first, *others = pieces
    if not others:
        return first
    *middle, last = others
    return first + "".join(f"(?>{any_one}*?{one})" for one in middle if one) + f"{any_one}*{last}"
