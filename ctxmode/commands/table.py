"""The verbs, one per row of `verbs.json`; a verb's module is imported on use."""

from __future__ import annotations

import importlib
import json
import keyword
import os
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any, NamedTuple


class Verb(NamedTuple):
    """One row of `--help`, and how the verb's command line is read.

    Attributes:
        name: its words, as they are typed: `kept show`.
        module: that of ctxmode.commands which does it; "" for a group that only has verbs.
        first: the words that its module gets before the others, or its action.
        usual: of a group without a module, the verb that its name alone stands for.
    """

    name: str
    module: str
    summary: str
    first: str = ""
    usual: str = ""
    takes_program_arguments: bool = False  # after `--`
    has_own_project_option: bool = False
    stays_open: bool = False  # has no single answer for a budget
    loads_more: bool = False  # the module resumes the collector itself

    def load(self) -> ModuleType:
        """Import the verb's module; `try` is a keyword of Python."""
        name = f"{self.module}_" if keyword.iskeyword(self.module) else self.module
        return importlib.import_module(f"ctxmode.commands.{name}")


with open(os.path.join(os.path.dirname(__file__), "verbs.json"), encoding="utf-8") as _file:
    _TABLE: dict[str, Any] = json.load(_file)
VERBS: dict[str, Verb] = {
    name: Verb(name, **{"module": name, **row}) for name, row in _TABLE["verbs"].items()
}
SECTIONS: dict[str, tuple[list[str], str]] = {
    title: (names, example) for title, (names, example) in _TABLE["sections"].items()
}
"""The groups in `--help` under their titles, each with an example. Only hosts call `hook`."""

FORMER: dict[str, str] = _TABLE["former"]
"""Former names of verbs. They still work, and report the new name."""

MODES = {"-i": "run -i", "--interactive": "run -i", "--batch": "run --batch"}
"""Options of `run` that select another verb, at any place."""


def find_former(words: Sequence[str]) -> str:
    """Return the former verb at the start of a command line, or ""."""
    return next((" ".join(words[:n]) for n in (2, 1) if " ".join(words[:n]) in FORMER), "")


def find_verb(words: Sequence[str]) -> tuple[Verb, list[str]] | None:
    """Return the verb at the start of a command line and the other words; None if unknown."""
    group, rest = words[0], list(words[1:])
    if group == "run":
        own = rest[: rest.index("--")] if "--" in rest else rest
        for at, word in enumerate(own):
            option, equals, value = word.partition("=")
            if option in MODES:
                rest[at : at + 1] = [value] if equals else []
                return VERBS[MODES[option]], rest
    if rest and f"{group} {rest[0]}" in VERBS:
        return VERBS[f"{group} {rest[0]}"], rest[1:]
    verb = VERBS.get(group)
    if verb is None or (verb.usual and rest and not rest[0].startswith("-")):
        return None
    if verb.usual and not {"-h", "--help"} & {*rest}:
        return VERBS[verb.usual], rest
    return verb, rest


def list_verbs(group: str) -> Iterator[Verb]:
    """Yield the verbs of a group, except the group itself."""
    return (verb for verb in VERBS.values() if verb.name.startswith(f"{group} "))
