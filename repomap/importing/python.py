"""Python: packages, levels, source folders such as `src/`."""

from __future__ import annotations

from repomap.importing.tree import Tree, folder_of
from repomap.model import Import

_ENDINGS = (".py", "/__init__.py", ".pyi", "/__init__.pyi")


def resolve(tree: Tree, path: str, one: Import) -> tuple[str, ...]:
    """Find the module, and submodules among the names that are taken from it."""
    bare = one.module.lstrip(".")
    level = len(one.module) - len(bare)
    parts = bare.split(".") if bare else []
    for base in _bases(tree, path, level):
        found = _find(tree, base, parts, one.names)
        if found:
            return found
    return ()


def _bases(tree: Tree, path: str, level: int) -> list[str]:
    """Return the folders from which a module may be found, the likeliest first."""
    folder = folder_of(path)
    if level:
        for _ in range(level - 1):
            if not folder:
                return []
            folder = folder_of(folder)
        return [folder]
    found = [""]
    top = folder
    while top and any(f"{top}/__init__.py{end}" in tree.paths for end in ("", "i")):
        top = folder_of(top)
    found += [top, "src", "lib", "python"]
    while folder:  # a source folder anywhere above, such as packages/a/src
        found += [folder, f"{folder}/src"]
        folder = folder_of(folder)
    return list(dict.fromkeys(found))


def _find(tree: Tree, base: str, parts: list[str], names: tuple[str, ...]) -> tuple[str, ...]:
    start = "/".join([base, *parts] if base else parts)
    found = [f"{start}{end}" for end in _ENDINGS if f"{start}{end}" in tree.paths][:1]
    for name in names:
        sub = f"{start}/{name}" if start else name
        found += [f"{sub}{end}" for end in _ENDINGS if f"{sub}{end}" in tree.paths][:1]
    return tuple(found)
