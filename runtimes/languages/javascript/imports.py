"""JavaScript and TypeScript: relative paths, configured paths, packages of workspaces."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from repomap.importing.tree import Tree, folder_of, join, list_above, place, read_json_object
from repomap.model import Import

_QUERIES = ("javascript/imports.scm",)
_TYPED = (*_QUERIES, "typescript/imports.scm")
LANGUAGES = {
    "javascript": _QUERIES,
    "typescript": _TYPED,
    "tsx": _TYPED,
    "vue": (),
    "svelte": (),  # their scripts are one of these
}
CALLS = ("import", "require")

_NAMES = ("tsconfig.json", "jsconfig.json", "tsconfig.app.json", "tsconfig.base.json")
"""Configurations of a folder: templates of tools put the paths into one of the last two."""

_EXTENDED_MAX = 8
_CONFIGS_MAX = 4
_TARGETS_MAX = 8


_Options = tuple[str | None, tuple[tuple[str, tuple[str, ...]], ...]]
"""The base folder of names that are not relative, and patterns, the most exact first, each with
target paths in which `*` stands for the rest."""


def list_configured(tree: Tree, path: str, module: str) -> Iterator[str]:
    """Yield the targets of a name by the configurations above a file, without endings."""
    for base, paths in tree.once(_list_options, folder_of(path)):
        for pattern, targets in paths:
            head, star, tail = pattern.partition("*")
            middle = module[len(head) : len(module) - len(tail)]
            if module != f"{head}{middle}{tail}" or (middle and not star):
                continue
            yield from (target.replace("*", middle, 1) for target in targets)
            break  # only the most exact pattern counts
        if base is not None:
            target = join(base, module)
            if target is not None:
                yield target


def _list_options(tree: Tree, folder: str) -> tuple[_Options, ...]:
    """Return the options of the configurations above a folder, the nearest first."""
    configs = (place(one, name) for one in list_above(folder) for name in _NAMES)
    found = [tree.once(_read_options, config) for config in configs if config in tree.paths]
    return tuple([one for one in found if one != (None, ())][:_CONFIGS_MAX])


def _read_options(tree: Tree, config: str) -> _Options:
    """Read a configuration; its own settings override the extended ones."""
    base: str | None = None
    paths: tuple[tuple[str, tuple[str, ...]], ...] | None = None
    for one, whole in _list_extended(tree, config):
        options = whole.get("compilerOptions")
        if not isinstance(options, dict):
            continue
        url, patterns = options.get("baseUrl"), options.get("paths")
        own = join(folder_of(one), url) if isinstance(url, str) else None
        if base is None:
            base = own
        if paths is None and isinstance(patterns, dict):
            start = own if own is not None else base
            paths = _read_paths(start if start is not None else folder_of(one), patterns)
    return base, paths or ()


def _list_extended(tree: Tree, config: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a configuration and those that it extends, the overriding ones first."""
    waiting, seen = [config], {config}
    while waiting and len(seen) <= _EXTENDED_MAX:
        one = waiting.pop()
        whole = read_json_object(tree, one)
        yield one, whole
        named = whole.get("extends")
        for name in (named if isinstance(named, list) else [named])[:_EXTENDED_MAX]:
            target = join(folder_of(one), name) if isinstance(name, str) else None
            for way in (target, f"{target}.json", f"{target}/tsconfig.json"):
                if target and way in tree.paths and way is not None:
                    if way not in seen:
                        seen.add(way)
                        waiting.append(way)
                    break


def _read_paths(start: str, patterns: Mapping[str, Any]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    found = []
    for pattern, targets in list(patterns.items())[:PATTERNS_MAX]:
        if not isinstance(targets, list) or pattern.count("*") > 1:
            continue
        texts = [one for one in targets[:_TARGETS_MAX] if isinstance(one, str)]
        ways = [way for one in texts if (way := join(start, one)) is not None]
        found.append((pattern, tuple(ways)))
    # A whole name is the most exact, then the longest beginning.
    found.sort(key=lambda row: ("*" in row[0], -len(row[0].partition("*")[0]), row[0]))
    return tuple(found)


_NAME = "package.json"
_ENTRIES = ("source", "types", "typings", "module", "main")
_PACKAGES_MAX = 2000
PATTERNS_MAX = 200
_CHOICES_MAX = 16


def list_packaged(tree: Tree, path: str, module: str) -> Iterator[str]:
    """Yield the targets of a name among the repository's packages, without endings."""
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
    """Yield the targets of a path within a package. Many are only built later."""
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
    """Yield the targets of the matching patterns, in which `*` stands for the rest."""
    if not isinstance(patterns, dict):
        return
    for pattern, value in list(patterns.items())[:PATTERNS_MAX]:
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


_ENDINGS = (".ts", ".tsx", ".mts", ".cts", ".d.ts", ".d.mts", ".d.cts", ".js", ".jsx", ".mjs",
            ".cjs", ".json", ".vue", ".svelte")  # fmt: skip
_COMPILED = re.compile(r"\.[cm]?jsx?\Z")


def resolve(tree: Tree, path: str, one: Import) -> tuple[str, ...]:
    """Find a file by a relative path, by the configurations above it, or by a package's name."""
    module = one.module.partition("?")[0]  # bundlers accept options after a question mark
    if module.startswith(("./", "../")) or module in (".", ".."):
        target = join(folder_of(path), module)
        return () if target is None else find_file(tree, target)
    ways = (list_configured, list_packaged)
    for list_targets in ways:
        for target in list_targets(tree, path, module):
            if found := find_file(tree, target):
                return found
    return ()


def find_file(tree: Tree, target: str) -> tuple[str, ...]:
    """Return the file of a path without its ending; for a folder, its `index`."""
    if target in tree.paths:
        return (target,)
    # TypeScript imports x.ts by its compiled name.
    bases = (target, _COMPILED.sub("", target), place(target, "index"))
    ways = (f"{base}{ending}" for base in bases if base for ending in _ENDINGS)
    return next(((way,) for way in ways if way in tree.paths), ())
