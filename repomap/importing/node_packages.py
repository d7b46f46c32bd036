"""Packages of the repository by the names in package.json, and a package's own `#` names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from repomap.importing.json_files import read_json_object
from repomap.importing.tree import Tree, folder_of, join, list_above, place

_NAME = "package.json"
_ENTRIES = ("source", "types", "typings", "module", "main")
_PACKAGES_MAX = 2000
_PATTERNS_MAX = 200
_CHOICES_MAX = 16


def list_targets(tree: Tree, path: str, module: str) -> Iterator[str]:
    """Yield what a name may mean among the repository's packages, without endings."""
    if module.startswith("#"):
        own = next(
            (one for one in list_above(folder_of(path)) if place(one, _NAME) in tree.paths), None
        )
        if own is not None:
            yield from _by_patterns(own, tree.once(_read, own).get("imports"), module)
        return
    parts = module.split("/")
    count = 2 if module.startswith("@") else 1
    folder = tree.once(_index_names, None).get("/".join(parts[:count]))
    if folder is not None:
        yield from _list_inside(tree, folder, "/".join(parts[count:]))


def _list_inside(tree: Tree, folder: str, rest: str) -> Iterator[str]:
    """Yield what a path within a package may mean. What it names is often only built later."""
    whole = tree.once(_read, folder)
    exports = whole.get("exports")
    if not (isinstance(exports, dict) and any(key.startswith(".") for key in exports)):
        exports = {".": exports}
    yield from _by_patterns(folder, exports, f"./{rest}" if rest else ".")
    if not rest:
        yield from _join_all(folder, [whole.get(field) for field in _ENTRIES])
    inside = rest or "index"
    yield place(folder, inside)
    yield place(folder, f"src/{inside}")


def _by_patterns(folder: str, patterns: object, name: str) -> Iterator[str]:
    """Yield the targets of the patterns that fit, in which `*` stands for the rest."""
    if not isinstance(patterns, dict):
        return
    for pattern, value in list(patterns.items())[:_PATTERNS_MAX]:
        head, star, tail = pattern.partition("*")
        middle = name[len(head) : len(name) - len(tail)]
        if name == f"{head}{middle}{tail}" and (star or not middle):
            yield from _join_all(folder, [one.replace("*", middle) for one in _list_texts(value)])


def _list_texts(value: object) -> list[str]:
    """Return the texts in choices by condition, which nest."""
    found: list[str] = []
    waiting = [value]
    for _ in range(_CHOICES_MAX):
        if not waiting:
            break
        one = waiting.pop(0)
        if isinstance(one, str):
            found.append(one)
        elif isinstance(one, dict):
            waiting += list(one.values())[:_CHOICES_MAX]
        elif isinstance(one, list):
            waiting += one[:_CHOICES_MAX]
    return found


def _join_all(folder: str, names: list[Any]) -> Iterator[str]:
    for name in names:
        target = join(folder, name) if isinstance(name, str) else None
        if target is not None:
            yield target


def _index_names(tree: Tree, _: None) -> dict[str, str]:
    """Return the folders of the repository's packages by name; the first keeps a name."""
    found: dict[str, str] = {}
    for config in tree.by_name.get(_NAME, ())[:_PACKAGES_MAX]:
        name = tree.once(_read, folder_of(config)).get("name")
        if isinstance(name, str) and name:
            found.setdefault(name, folder_of(config))
    return found


def _read(tree: Tree, folder: str) -> dict[str, Any]:
    return read_json_object(tree, place(folder, _NAME))
