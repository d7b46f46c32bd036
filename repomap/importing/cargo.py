"""Crates of the repository: which file each begins with, by the names in Cargo.toml."""

from __future__ import annotations

import re

from repomap.importing.tree import Tree, folder_of, join, list_above, place

_NAME = "Cargo.toml"
_TABLE = re.compile(r"\[ *([\w.-]+) *\]")
_CRATES_MAX = 2000
_FIRST = ("lib.rs", "main.rs")


def find_crate_root(tree: Tree, path: str) -> str | None:
    """Return the first file of the crate that a file belongs to; None if it is not to be seen."""
    return tree.once(_find_above, folder_of(path))


def _find_above(tree: Tree, folder: str) -> str | None:
    ways = (place(one, name) for one in list_above(folder) for name in _FIRST)
    return next((way for way in ways if way in tree.paths), None)


def find_crate(tree: Tree, name: str) -> str | None:
    """Return the first file of a library, by the name that programs use."""
    return tree.once(_index_crates, None).get(name)


def _index_crates(tree: Tree, _: None) -> dict[str, str]:
    found: dict[str, str] = {}
    for config in tree.by_name.get(_NAME, ())[:_CRATES_MAX]:
        rows = _read_rows(tree.read(config))
        name = rows.get(("lib", "name")) or rows.get(("package", "name"), "")
        file = join(folder_of(config), rows.get(("lib", "path"), "src/lib.rs"))
        if name and file in tree.paths and file is not None:
            found.setdefault(name.replace("-", "_"), file)
    return found


def _read_rows(data: bytes) -> dict[tuple[str, str], str]:
    """Return the texts of a TOML file by table and key, line by line.

    A whole parser takes quadratic time for keys of very many parts.
    """
    found: dict[tuple[str, str], str] = {}
    table = ""
    for line in data.decode("utf-8", "replace").splitlines():
        text = line.strip()
        if text.startswith("["):
            named = _TABLE.match(text)
            table = named[1] if named else ""
            continue
        key, equals, value = text.partition("=")
        value = value.strip()
        if equals and value[:1] in ('"', "'"):
            found.setdefault((table, key.strip()), value[1:].partition(value[0])[0])
    return found
