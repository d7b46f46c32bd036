"""The `paths` and `baseUrl` of tsconfig.json, with what it extends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from repomap.importing.json_files import read_json_object
from repomap.importing.tree import Tree, folder_of, join, list_above, place

_NAMES = ("tsconfig.json", "jsconfig.json", "tsconfig.app.json", "tsconfig.base.json")
"""Configurations of a folder: tools' templates put the paths into one of the last two."""

_EXTENDED_MAX = 8
_CONFIGS_MAX = 4
_PATTERNS_MAX = 200
_TARGETS_MAX = 8


@dataclass(frozen=True, slots=True)
class _Options:
    """Where names that are not relative are looked for. `paths` are patterns, the most exact
    first, each with folders and files of the tree in which `*` stands for the rest."""

    base: str | None = None
    paths: tuple[tuple[str, tuple[str, ...]], ...] = ()


def list_targets(tree: Tree, path: str, module: str) -> Iterator[str]:
    """Yield what the configurations above a file make of a name, without endings."""
    for options in tree.once(_list_options, folder_of(path)):
        for pattern, targets in options.paths:
            head, star, tail = pattern.partition("*")
            middle = module[len(head) : len(module) - len(tail)]
            if module != f"{head}{middle}{tail}" or (middle and not star):
                continue
            yield from (target.replace("*", middle, 1) for target in targets)
            break  # only the most exact pattern counts
        if options.base is not None:
            target = join(options.base, module)
            if target is not None:
                yield target


def _list_options(tree: Tree, folder: str) -> tuple[_Options, ...]:
    """Return the options of the configurations above a folder, the nearest first."""
    configs = (place(one, name) for one in list_above(folder) for name in _NAMES)
    found = [tree.once(_read_options, config) for config in configs if config in tree.paths]
    return tuple([one for one in found if one != _Options()][:_CONFIGS_MAX])


def _read_options(tree: Tree, config: str) -> _Options:
    """Read a configuration; what it says itself overrules what it extends."""
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
    return _Options(base, paths or ())


def _list_extended(tree: Tree, config: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a configuration and those that it extends, the one that overrules first."""
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
    for pattern, targets in list(patterns.items())[:_PATTERNS_MAX]:
        if not isinstance(targets, list) or pattern.count("*") > 1:
            continue
        texts = [one for one in targets[:_TARGETS_MAX] if isinstance(one, str)]
        ways = [way for one in texts if (way := join(start, one)) is not None]
        found.append((pattern, tuple(ways)))
    # A whole name is the most exact, then the longest beginning.
    found.sort(key=lambda row: ("*" in row[0], -len(row[0].partition("*")[0]), row[0]))
    return tuple(found)
