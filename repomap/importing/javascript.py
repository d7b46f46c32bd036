"""JavaScript and TypeScript: relative paths, paths of a configuration, packages of workspaces."""

from __future__ import annotations

import re

from repomap.importing import node_packages, typescript_config
from repomap.importing.tree import Tree, folder_of, join, place
from repomap.model import Import

_ENDINGS = (".ts", ".tsx", ".mts", ".cts", ".d.ts", ".d.mts", ".d.cts", ".js", ".jsx", ".mjs",
            ".cjs", ".json", ".vue", ".svelte")  # fmt: skip
_COMPILED = re.compile(r"\.[cm]?jsx?\Z")


def resolve(tree: Tree, path: str, one: Import) -> tuple[str, ...]:
    """Find a file by a relative path, by the configurations above it, or by a package's name."""
    module = one.module.partition("?")[0]  # bundlers take options behind a question mark
    if module.startswith(("./", "../")) or module in (".", ".."):
        target = join(folder_of(path), module)
        return () if target is None else find_file(tree, target)
    ways = (typescript_config.list_targets, node_packages.list_targets)
    for list_targets in ways:
        for target in list_targets(tree, path, module):
            if found := find_file(tree, target):
                return found
    return ()


def find_file(tree: Tree, target: str) -> tuple[str, ...]:
    """Return the file that a path without its ending means; a folder means its `index`."""
    if target in tree.paths:
        return (target,)
    # TypeScript imports x.ts by the name that it is compiled to.
    bases = (target, _COMPILED.sub("", target), place(target, "index"))
    ways = (f"{base}{ending}" for base in bases if base for ending in _ENDINGS)
    return next(((way,) for way in ways if way in tree.paths), ())
