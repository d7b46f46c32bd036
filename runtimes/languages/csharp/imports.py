"""C#: namespaces are usually folders below that of a project; nothing else names their place."""

from __future__ import annotations

import re

from repomap.importing.statements import drop_keywords
from repomap.importing.tree import Tree, find_nearest, folder_of, place
from repomap.model import Import

LANGUAGES = {"csharp": ("csharp/imports.scm",)}
_DOTTED = re.compile(r"[\w.@]+")

_PROJECT = ".csproj"


def _read_csharp(text: str) -> list[Import]:
    bare = drop_keywords(text, "global", "using", "static", "unsafe").rpartition("=")[2]
    name = bare.partition("<")[0].strip().removeprefix("global::").replace(" ", "")
    return [Import(name)] if _DOTTED.fullmatch(name) else []  # others are tuples and arrays


READERS = {"csharp": _read_csharp}


def resolve(tree: Tree, path: str, one: Import) -> tuple[str, ...]:
    """Find the files of a namespace's folder, or the file of a type that is used statically."""
    parts = [part for part in one.module.split(".") if part]
    if not parts:
        return ()
    return _by_project(tree, path, parts) or _by_folder(tree, path, parts)


def _by_project(tree: Tree, path: str, parts: list[str]) -> tuple[str, ...]:
    """Find a namespace below a project whose name it begins with."""
    projects = tree.once(_index_projects, None)
    for count in range(len(parts), 0, -1):
        folders = projects.get(".".join(parts[:count]), [])
        rest = "/".join(parts[count:])
        held = [one for one in folders if _list(tree, place(one, rest))]
        if nearest := find_nearest(path, held):
            return _list(tree, place(nearest[0], rest))
    return ()


def _by_folder(tree: Tree, path: str, parts: list[str]) -> tuple[str, ...]:
    """Find the only folder with this ending; its first parts may be one name with dots."""
    if len(parts) < 2:
        return ()
    for count in range(len(parts), 0, -1):
        suffix = "/".join([".".join(parts[:count]), *parts[count:]])
        held = [one for one in tree.find_folders_ending(suffix) if _list(tree, one)]
        if nearest := find_nearest(path, held):
            return _list(tree, nearest[0])
        if fits := tree.only(f"{suffix}.cs"):
            return fits
    return ()


def _list(tree: Tree, target: str) -> tuple[str, ...]:
    found = tree.list_folder(target, (".cs",))
    return found or ((f"{target}.cs",) if f"{target}.cs" in tree.paths else ())


def _index_projects(tree: Tree, _: None) -> dict[str, list[str]]:
    """Return the folders of projects, by the projects' names."""
    found: dict[str, list[str]] = {}
    for name, paths in tree.by_name.items():
        if name.endswith(_PROJECT):
            found[name.removesuffix(_PROJECT)] = [folder_of(path) for path in paths[:64]]
    return found
