"""Texts against patterns with wildcards, in time that their lengths bound: nothing is tried twice.

Rules come with a project, and whoever wrote it chooses the texts as well. A backtracking regular
expression with twenty stars could hold the process for years.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

ANY = object()  # any text, also none
ONE = object()  # any one character
Part = object | str | Callable[[str], bool]
"""ANY, ONE, one character, or what tells whether a character is meant."""


def is_made_of(pieces: Sequence[str], text: str) -> bool:
    """Whether a text has the pieces in this order, from its start to its end, with any text between
    them: `pattern.split("*")` against it."""
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


class Wildcard:
    """A pattern's states, as the bits of a number: bit n says that its first n parts are met.

    A star is no part: the state before it stays, whatever comes. So one step a character follows
    all ways at once.
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
        """Whether a text fits; if it is partly unknown, with ANY and ONE in it, whether it may."""
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
        """The states that a character leads on."""
        if given is ONE:
            return self._end - 1
        assert isinstance(given, str)
        known = self._accepted.get(given)
        if known is None:
            met = (bit for bit, part in enumerate(self._parts) if _accepts(part, given))
            known = self._accepted[given] = sum(1 << bit for bit in met)
        return known


def _accepts(part: Part, char: str) -> bool:
    return part is ONE or (part(char) if callable(part) else part == char)
