"""Go: a package is the folder behind its module's path."""

from __future__ import annotations

import re

from repomap.importing.tree import Tree, folder_of
from repomap.model import Import

_MODULE = re.compile(rb"^module[ \t]+\"?([^\s\"]+)", re.MULTILINE)


def resolve(tree: Tree, path: str, one: Import) -> tuple[str, ...]:
    """Find the files of a package of this repository, its tests left out."""
    folder = folder_of(path)
    while True:
        config = f"{folder}/go.mod" if folder else "go.mod"
        if config in tree.paths:
            named = _MODULE.search(tree.read(config) or b"")
            return () if named is None else _find(tree, folder, named[1].decode(), one.module)
        if not folder:
            return ()
        folder = folder_of(folder)


def _find(tree: Tree, base: str, module: str, wanted: str) -> tuple[str, ...]:
    if wanted != module and not wanted.startswith(f"{module}/"):
        return ()
    rest = wanted[len(module) + 1 :]
    folder = "/".join(part for part in (base, rest) if part)
    files = tree.by_folder.get(folder, ())
    return tuple(f for f in files if f.endswith(".go") and not f.endswith("_test.go"))
