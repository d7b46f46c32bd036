"""Patterns of names, made ready to be compared with many paths in linear time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from executor.project.rules.name_folding import fold, short_form
from executor.project.rules.name_row import NameRow

LENGTH_MAX = 200
STARS_MAX = 3
PARTS_MAX = 6


@dataclass(frozen=True, slots=True)
class Part:
    """One name of a pattern: the texts between its stars, folded."""

    texts: tuple[str, ...]
    short: str | None = None

    @property
    def is_literal(self) -> bool:
        return len(self.texts) == 1

    def matches(self, name: str) -> bool:
        """Whether a folded name is meant. Each text is looked for once, from the left."""
        if self.is_literal:
            return name in (self.texts[0], self.short)
        first, *middle, last = self.texts
        at, end = len(first), len(name) - len(last)
        if at > end or not (name.startswith(first) and name.endswith(last)):
            return False
        for text in middle:
            at = name.find(text, at, end) + len(text)
            if at < len(text):
                return False
        return True


@dataclass(frozen=True, slots=True)
class NamePattern:
    """A row's pattern; `row` is None where what bears the name is committed."""

    parts: tuple[Part, ...]
    row: NameRow | None
    is_top: bool = False
    in_packages: bool = False

    def matches(self, names: Sequence[str], at: int) -> bool:
        """Whether folded names bear it from this place on."""
        if self.is_top and at:
            return False
        if len(self.parts) > len(names) - at:
            return False
        return all(part.matches(names[at + i]) for i, part in enumerate(self.parts))

    def goes_on(self, names: Sequence[str], at: int) -> bool:
        """Whether all names from this place on bear it, and it goes on behind them."""
        if (self.is_top and at) or len(self.parts) <= len(names) - at:
            return False
        return all(p.matches(name) for p, name in zip(self.parts, names[at:], strict=False))

    @property
    def rank(self) -> tuple[int, int, int, bool]:
        """Of two for one place the longer is meant, with fewer stars, more text, at the top."""
        literals = sum(part.is_literal for part in self.parts)
        text = sum(len(text) for part in self.parts for text in part.texts)
        return len(self.parts), literals, text, self.is_top


def compile_pattern(
    given: str, row: NameRow | None, *, is_top: bool = False, in_packages: bool = False
) -> NamePattern:
    """The pattern of a text; one that begins with a slash is meant at the project's top alone.

    Raises:
        ValueError: it is too long, has too many stars, or names nothing.
    """
    text = given.removeprefix("/")
    if len(text) > LENGTH_MAX or text.count("*") > STARS_MAX:
        raise ValueError(f"{text[:80]!r} has over {LENGTH_MAX} characters or {STARS_MAX} stars")
    names = text.split("/")
    if len(names) > PARTS_MAX:
        raise ValueError(f"{text!r} has over {PARTS_MAX} names")
    if not fold(names[0].replace("*", "")) or not all(fold(name) for name in names):
        raise ValueError(f"{text!r} must be names with / between, and begin with more than a star")
    parts = tuple(_part(name) for name in names)
    return NamePattern(parts, row, is_top or text != given, in_packages)


def _part(text: str) -> Part:
    if "*" not in text:
        whole = fold(text)
        return Part((whole,), short_form(whole))
    # Between stars a dot or space at an end is not the name's end.
    texts = tuple(f"{fold(f'{piece}x')[:-1]}" for piece in text.split("*"))
    return Part(texts)
