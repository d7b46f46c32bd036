"""What a function does when it is called: typed recipes, parsed once out of a table's words.

A recipe is the name of an act (`starting.ACTS`, `other_recipes.ACTS`) and its
parameters: an argument (a position, a name, alternatives as in `0/args`, or
`self`), a number, a language, and flags by name. Several are joined by `;`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from policy.host import other_recipes, starting
from policy.host.arguments import argument
from policy.host.call import Act, HostCall

_ACTS: dict[str, Act] = {**starting.ACTS, **other_recipes.ACTS}
_READERS: dict[str, Callable[[str], Any]] = {"Argument": argument, "int": int, "str": str}


class Recipe(NamedTuple):
    """An act with its parameters."""

    act: Act
    parameters: Mapping[str, Any]

    def apply(self, call: HostCall) -> None:
        """Report the effects of a call."""
        self.act(call, **self.parameters)


@functools.cache
def parse_recipes(text: str) -> tuple[Recipe, ...]:
    """The recipes that a table's words stand for; KeyError or ValueError for one not known."""
    return tuple(_parse(*clause.split()) for clause in text.split(";"))


@functools.cache
def _parameters(act: Act) -> dict[str, tuple[str, bool]]:
    """The type of each parameter behind the call, and whether it must be given."""
    names = act.__code__.co_varnames[1 : act.__code__.co_argcount]
    needed = len(names) - len(act.__defaults__ or ())
    return {name: (act.__annotations__[name], at < needed) for at, name in enumerate(names)}


def _parse(kind: str, *words: str) -> Recipe:
    parameters = _parameters(_ACTS[kind])
    given: dict[str, Any] = {
        word: True for word in words if parameters.get(word, "")[:1] == ("bool",)
    }
    rest = [word for word in words if word not in given]
    fields = {name: type_ for name, (type_, _) in parameters.items() if type_ in _READERS}
    for (name, type_), word in zip(fields.items(), rest, strict=False):
        given[name] = _READERS[type_](word)
    needed = {name for name, (_, is_needed) in parameters.items() if is_needed}
    if len(rest) > len(fields) or not needed <= given.keys():
        raise ValueError(f"not the words that it takes: {kind} {' '.join(words)}")
    return Recipe(_ACTS[kind], given)
