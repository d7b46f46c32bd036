"""Tables of one language: its query, and the effects of its functions and methods."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from policy.host import recipes
from policy.host.call import Act, argument
from runtimes.languages import list_languages, read_file

# A recipe is the name of an act (`STARTING_ACTS`, `OTHER_ACTS`) and its parameters: an argument (a
# position, a name, alternatives as in `0/args`, or `self`), a number, a language, and flags by
# name. Several are joined by `;`.

_ACTS: dict[str, Act] = {**recipes.STARTING_ACTS, **recipes.OTHER_ACTS}
_READERS: dict[str, Callable[[str], Any]] = {"Argument": argument, "int": int, "str": str}


Recipe = functools.partial[None]
"""An act with its parameters: it reports the effects of a call."""


@functools.cache
def parse_recipes(text: str) -> tuple[Recipe, ...]:
    """Parse recipes; raises KeyError or ValueError for an unknown one."""
    return tuple(_parse(*clause.split()) for clause in text.split(";"))


@functools.cache
def _parameters(act: Act) -> dict[str, tuple[str, bool]]:
    """Return the type of each parameter after the call, and whether it must be given."""
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
    return functools.partial(_ACTS[kind], **given)


Entry = TypeVar("Entry")
_COMMON = Path(__file__).with_name("common.scm")


@dataclass(frozen=True, slots=True, eq=False)
class HostLanguage:
    """Knowledge of one language, from the files `guard.toml` and `guard.scm` of its folder.

    Mappings are tables by dotted name.
    """

    name: str
    query: str
    sinks: Mapping[str, tuple[Recipe, ...]]  # effects of calling a function
    folds: Mapping[str, str]  # how a call of a function makes a constant
    methods: Mapping[str, str]  # how a call of a method makes a constant
    constants: Mapping[str, str]  # the value of each constant
    modules: Mapping[str, str]  # other names of modules
    assigns: Mapping[str, str]  # functions that fill their first argument from the others
    returns: Mapping[str, str]  # the objects that functions return
    members: Mapping[str, str]  # the objects that members are (`*.name`: of any module)
    calls: Mapping[str, int]  # methods that call their function; how many arguments precede its own
    traits: frozenset[str]
    namespaces: tuple[str, ...]  # may be written before a name or left out

    def recipes(self, dotted: str) -> tuple[Recipe, ...]:
        """Return the recipes of a function; empty if the tables do not have it."""
        return self.lookup(self.sinks, dotted) or ()

    def lookup(self, table: Mapping[str, Entry], dotted: str) -> Entry | None:
        """Return an entry of a table; an implicit namespace may be written or not. `a.*` is any
        member of `a`, `a.**` anything reached from there."""
        if dotted in table:
            return table[dotted]
        for namespace in self.namespaces:
            if dotted.startswith(namespace) and dotted[len(namespace) :] in table:
                return table[dotted[len(namespace) :]]
        if "any_case" in self.traits and dotted != dotted.lower():
            return self.lookup(table, dotted.lower())
        head = dotted.rpartition(".")[0][:100]  # no name in the tables is as long
        found = table.get(f"{head}.*")
        while found is None and head:
            found = table.get(f"{head}.**")
            head = head.rpartition(".")[0]
        return found

    def member(self, base: str, name: str) -> str:
        """Return the dotted name of a member: the tables' name, else both names joined."""
        dotted = f"{base}.{name}"
        known = self.members.get(dotted)
        if known is None and base[:1] != "?":
            known = self.members.get(f"*.{name}")
        return base if known == "itself" else known or dotted


_TABLES = ("sinks", "folds", "methods", "constants", "modules", "assigns", "returns", "members")


@functools.cache
def load_language(name: str) -> HostLanguage | None:
    """Load the language of a name; None if no query knows it."""
    if name not in list_languages("guard.toml"):
        return None
    data = _read(name)
    traits = frozenset(data.get("traits", ()))
    common = "" if "no_escapes" in traits else _COMMON.read_text(encoding="utf-8")
    queries = (*data.get("shared_queries", ()), f"{name}/guard.scm")
    return HostLanguage(
        name=name,
        query="".join((common, *map(read_file, queries))),
        sinks={name: parse_recipes(text) for name, text in data["sinks"].items()},
        calls=data.get("calls", {}),
        traits=traits,
        namespaces=tuple(data.get("namespaces", ())),
        **{key: data[key] for key in _TABLES if key != "sinks"},
    )


def _read(name: str) -> dict[str, Any]:
    """Read the file of a language, on top of that of the one it extends."""
    data = tomllib.loads(read_file(f"{name}/guard.toml"))
    data |= {key: _by_name(key, data.get(key, {})) for key in _TABLES}
    if "extends" not in data:
        return data
    parent = _read(data["extends"])
    return parent | data | {key: parent[key] | data[key] for key in _TABLES}


def _by_name(key: str, table: Mapping[str, str]) -> dict[str, str]:
    """Return what each name stands for. A table lists names by it; `a.b|c` is `a.b` and `a.c`."""
    if key in ("constants", "modules"):
        return dict(table)
    found: dict[str, str] = {}
    for value, names in table.items():
        for entry in names.replace("|\n", "|").split():
            head, dot, last = entry.rpartition(".")
            if "|" in head:
                raise ValueError(f"{entry}: only the last part of a name may have alternatives")
            for name in last.split("|"):
                if found.setdefault(head + dot + name, value) != value:
                    raise ValueError(f"{head}{dot}{name} stands under two recipes")
    return found
