"""Go: a package is the folder named after its module's path."""

from __future__ import annotations

from repomap.importing.tree import Tree, find_nearest, folder_of, join, list_above, place
from repomap.model import Import

LANGUAGES = {"go": ("go/imports.scm",)}

_NAME = "go.mod"


def resolve(tree: Tree, path: str, one: Import) -> tuple[str, ...]:
    """Find the files of a package of this repository, without its tests."""
    own = tree.once(_find_own, folder_of(path))
    if own is None:
        return ()
    own_path, replaced = tree.once(_read_module, own)
    # Longest first: a module may be in the folder of another.
    for begin in list_above(one.module):
        rest = one.module[len(begin) :].lstrip("/")
        if begin in replaced:
            return _list_package(tree, place(replaced[begin], rest))
        if begin and begin == own_path:
            return _list_package(tree, place(own, rest))
        if folders := tree.once(_index_modules, None).get(begin):
            return _list_package(tree, place((find_nearest(path, folders) or folders)[0], rest))
    return _list_package(tree, place(own, f"vendor/{one.module}"))


def _list_package(tree: Tree, folder: str) -> tuple[str, ...]:
    files = tree.list_folder(folder, (".go",))
    return tuple(file for file in files if not file.endswith("_test.go"))


def _find_own(tree: Tree, folder: str) -> str | None:
    """Return the folder of the nearest go.mod."""
    return next((one for one in list_above(folder) if place(one, _NAME) in tree.paths), None)


def _index_modules(tree: Tree, _: None) -> dict[str, list[str]]:
    """Return the folders of the repository's modules, by the modules' paths."""
    found: dict[str, list[str]] = {}
    for config in tree.by_name.get(_NAME, ()):
        folder = folder_of(config)
        if path := tree.once(_read_module, folder)[0]:
            found.setdefault(path, []).append(folder)
    return found


def _read_module(tree: Tree, folder: str) -> tuple[str, dict[str, str]]:
    """Read from a go.mod the path of its module, and the folders that replace others."""
    path, block = "", ""
    replaced: dict[str, str] = {}
    for line in tree.read(place(folder, _NAME)).decode("utf-8", "replace").splitlines():
        words = [word.strip('"`') for word in line.partition("//")[0].split()]
        if not words:
            continue
        if block and words[0] == ")":
            block = ""
        elif words[-1] == "(":
            block = words[0]
        else:
            if block:
                words = [block, *words]
            if words[0] == "module" and len(words) > 1:
                path = words[1]
            elif words[0] == "replace" and "=>" in words[:-1]:
                target = words[words.index("=>") + 1]
                local = join(folder, target) if target.startswith(".") else None
                if local is not None:
                    replaced[words[1]] = local
    return path, replaced
