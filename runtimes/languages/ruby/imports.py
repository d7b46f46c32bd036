"""Ruby: next to the file, below load folders, or by the only path with this ending."""

from __future__ import annotations

from repomap.importing.tree import QUOTES, Tree, find_nearest, folder_of, join, list_above, place
from repomap.model import Import

LANGUAGES = {"ruby": ("ruby/imports.scm",)}
CALLS = ("autoload", "load", "require", "require_relative")

_ROOTS = ("lib", "spec", "test", "app")
"""Folders that the tools of Ruby load from."""


def read_module(module: str, call: str) -> Import | None:
    """Return a required file; None if its name is known only when the program runs."""
    if "#{" in module:
        return None
    return Import(module.strip(QUOTES), (), "relative" if call == "require_relative" else "")


def resolve(tree: Tree, path: str, one: Import) -> tuple[str, ...]:
    """Find the required file."""
    name = one.module if one.module.endswith(".rb") else f"{one.module}.rb"
    if one.form == "relative":
        beside = join(folder_of(path), name)
        return (beside,) if beside in tree.paths and beside else ()
    bare = name.removeprefix("./")
    for folder in list_above(folder_of(path)):
        for root in _ROOTS:
            if (found := place(folder, f"{root}/{bare}")) in tree.paths:
                return (found,)
    if found_below := tree.find_ending(f"lib/{bare}"):
        return find_nearest(path, found_below)
    if name != bare:
        return (bare,) if bare in tree.paths else ()
    # A name alone is more likely a library's than that of a file deep in the tree.
    return tree.only(bare) if "/" in bare else ()
