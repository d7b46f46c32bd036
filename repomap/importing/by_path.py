"""Languages that name a file by a path: C's includes, Java's classes, Ruby's requires."""

from __future__ import annotations

from repomap.importing.tree import Tree, folder_of, join
from repomap.model import Import


def resolve_include(tree: Tree, path: str, one: Import) -> tuple[str, ...]:
    """Find an include beside the file, else the only file with that path's end."""
    beside = join(folder_of(path), one.module)
    if one.form == "quoted" and beside in tree.paths:
        return (beside,) if beside else ()
    if one.form == "angled" and "/" not in one.module:
        return ()
    return tree.only(one.module.lstrip("./"))


def resolve_java(tree: Tree, path: str, one: Import) -> tuple[str, ...]:
    """Find a class, or the class that a static import or a nested one belongs to."""
    parts = one.module.removesuffix(".*").split(".")
    while len(parts) > 1:
        if found := tree.only(f"{'/'.join(parts)}.java"):
            return found
        parts.pop()
    return ()


def resolve_ruby(tree: Tree, path: str, one: Import) -> tuple[str, ...]:
    """Find a file beside this one, or below a folder `lib`, or the only one that ends so."""
    name = one.module if one.module.endswith(".rb") else f"{one.module}.rb"
    if one.form == "relative":
        beside = join(folder_of(path), name)
        return (beside,) if beside in tree.paths and beside else ()
    if f"lib/{name}" in tree.paths:
        return (f"lib/{name}",)
    return tree.only(name.lstrip("./"))
