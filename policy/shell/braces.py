"""Brace expansion: `{a,b}` and `{1..3}` over the parts of a word."""

from __future__ import annotations

import re

from policy.shell.state import WorkBudget
from policy.shell.syntax import Literal, Part

_PIECES = re.compile(r"([{},])")
_SEQUENCE = re.compile(r"(-?\d+|[A-Za-z])\.\.(-?\d+|[A-Za-z])(?:\.\.(-?\d+))?")

Atom = Part | str  # an unquoted brace or comma is a plain string


def expand_braces(parts: tuple[Part, ...], budget: WorkBudget) -> list[tuple[Part, ...]]:
    """Return all words the braces make; the word itself if it has none."""
    atoms: list[Atom] = []
    for part in parts:
        if type(part) is Literal and not part.quoted:
            for piece in _PIECES.split(part.text):
                if piece:
                    atoms.append(piece if piece in "{}," else Literal(piece, False))
        else:
            atoms.append(part)
    words = _expand(atoms, budget)
    return [tuple(Literal(a, False) if isinstance(a, str) else a for a in word) for word in words]


def _expand(atoms: list[Atom], budget: WorkBudget) -> list[list[Atom]]:
    budget.spend(len(atoms))
    for start, atom in enumerate(atoms):
        if atom != "{":
            continue
        budget.spend((len(atoms) - start) // 8)
        choices, end = _choices(atoms, start)
        if choices is None:
            continue
        heads = [
            [*atoms[:start], *inner] for choice in choices for inner in _expand(choice, budget)
        ]
        tails = _expand(atoms[end:], budget)
        budget.spend(len(heads) * len(tails))
        return [head + tail for head in heads for tail in tails]
    return [atoms]


def _choices(atoms: list[Atom], start: int) -> tuple[list[list[Atom]] | None, int]:
    """Return the alternatives of the brace that opens at `start`, and where it ends."""
    level, choices, current = 0, list[list[Atom]](), list[Atom]()
    for index in range(start + 1, len(atoms)):
        atom = atoms[index]
        if atom == "}" and level == 0:
            choices.append(current)
            if len(choices) == 1:
                return _sequence(choices[0]), index + 1
            return choices, index + 1
        if atom == "," and level == 0:
            choices.append(current)
            current = []
            continue
        level += (atom == "{") - (atom == "}")
        current.append(atom)
    return None, start


def _sequence(inner: list[Atom]) -> list[list[Atom]] | None:
    """Expand `{1..5}`, `{a..e..2}`; return None if the braces are plain text."""
    if len(inner) != 1 or not isinstance(inner[0], Literal):
        return None
    match = _SEQUENCE.fullmatch(inner[0].text)
    if match is None or match[1].isalpha() != match[2].isalpha():
        return None
    letters = match[1].isalpha()
    first, last = (ord(match[1]), ord(match[2])) if letters else (int(match[1]), int(match[2]))
    step = abs(int(match[3] or 1)) or 1
    count = abs(last - first) // step + 1
    if count > 10_000:
        return None
    sign = 1 if last >= first else -1
    numbers = (first + sign * step * index for index in range(count))
    return [[Literal(chr(n) if letters else str(n), False)] for n in numbers]
