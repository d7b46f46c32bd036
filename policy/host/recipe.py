"""What a function does when it is called: typed recipes, parsed once out of a table's words.

A recipe is the name of an act (`starting.ACTS`, `other_recipes.ACTS`) and its
parameters: an argument (a position, a name, alternatives as in `0/args`, or
`self`), a number, a language, and flags by name. Several are joined by `;`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from policy.host import other_recipes, starting
from policy.host.arguments import argument
from policy.host.call import Act, Call

_ACTS: dict[str, Act] = {**starting.ACTS, **other_recipes.ACTS}
_READERS: dict[str, Callable[[str], Any]] = {"Argument": argument, "int": int, "str": str}


@dataclass(frozen=True, slots=True)
class Recipe:
    """An act with its parameters."""

    act: Act
    parameters: tuple[tuple[str, Any], ...]

    def apply(self, call: Call) -> None:
        """Report the effects of a call."""
        self.act(call, **dict(self.parameters))


@functools.cache
def parse_recipes(text: str) -> tuple[Recipe, ...]:
    """The recipes that a table's words stand for; KeyError or ValueError for one not known."""
    return tuple(_parse(*clause.split()) for clause in text.split(";"))


def _parse(kind: str, *words: str) -> Recipe:
    act = _ACTS[kind]
    types = {name: str(p.annotation) for name, p in inspect.signature(act).parameters.items()}
    flags = {word: True for word in words if types.get(word) == "bool"}
    fields = [name for name, type_ in types.items() if type_ in _READERS]
    rest = [word for word in words if word not in flags]
    if len(rest) > len(fields):
        raise ValueError(f"too many words: {kind} {' '.join(words)}")
    given = {name: _READERS[types[name]](word) for name, word in zip(fields, rest, strict=False)}
    inspect.signature(act).bind(None, **given, **flags)
    return Recipe(act, (*given.items(), *flags.items()))
