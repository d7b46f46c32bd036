"""Python: packages, levels, and the folders from which packages are found."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from repomap.importing.tree import CANDIDATES, Tree, find_nearest, folder_of, list_above, place
from repomap.model import Import

LANGUAGES = {"python": ("python/imports.scm",)}

_ENDINGS = ("/__init__.py", ".py", "/__init__.pyi", ".pyi")
"""Endings of modules: a package comes before a module of the same name."""

_PACKAGE = ("__init__.py", "__init__.pyi")
_SOURCES = ("src", "lib", "python")
"""Usual names of source folders, for packages without `__init__.py`."""


def resolve(tree: Tree, path: str, one: Import) -> tuple[str, ...]:
    """Find the module, and submodules among the imported names."""
    bare = one.module.lstrip(".")
    level = len(one.module) - len(bare)
    parts = bare.split(".") if bare else []
    if "" in parts:
        return ()
    bases = _relative(path, level) if level else _absolute(tree, path, parts[0])
    for base in bases:
        if found := _find(tree, base, parts, one.names):
            return found
    return ()


def _relative(path: str, level: int) -> tuple[str, ...]:
    parts = folder_of(path).split("/") if "/" in path else []
    above = len(parts) - (level - 1)
    return ("/".join(parts[:above]),) if above >= 0 else ()


def _absolute(tree: Tree, path: str, first: str) -> Iterator[str]:
    """Yield the folders that may contain a module, the likeliest first. A program's own folder
    comes before the standard library, all others after it."""
    own = tree.once(_find_top, folder_of(path))
    yield own
    if first in sys.stdlib_module_names:
        return
    for folder in list_above(own):
        yield folder
        yield from (place(folder, name) for name in _SOURCES)
    roots = tree.once(_find_roots, None).get(first, [])
    yield from find_nearest(path, roots[:CANDIDATES])


def _find_top(tree: Tree, folder: str) -> str:
    """Return the folder that contains a folder's package; the folder itself if it is not in one."""
    return next(one for one in list_above(folder) if not (one and _is_package(tree, one)))


def _find_roots(tree: Tree, _: None) -> dict[str, list[str]]:
    """Return the folders that contain packages, by the names of those packages."""
    found: dict[str, list[str]] = {}
    for name in _PACKAGE:
        for path in tree.by_name.get(name, ()):
            folder = folder_of(path)
            root = folder_of(folder)
            if folder and not (root and _is_package(tree, root)):
                roots = found.setdefault(folder.rpartition("/")[2], [])
                if root not in roots[-2:]:
                    roots.append(root)
    return found


def _is_package(tree: Tree, folder: str) -> bool:
    return any(f"{folder}/{name}" in tree.paths for name in _PACKAGE)


def _find(tree: Tree, base: str, parts: list[str], names: tuple[str, ...]) -> tuple[str, ...]:
    start = place(base, "/".join(parts))
    found = _find_module(tree, start)
    if found and not found[0].endswith(_PACKAGE):
        return found
    for name in names:
        found += _find_module(tree, place(start, name))
    return found


def _find_module(tree: Tree, start: str) -> tuple[str, ...]:
    ways = (f"{start}{ending}" if start else ending.lstrip("/") for ending in _ENDINGS)
    return tuple(way for way in ways if way in tree.paths)[:1]
