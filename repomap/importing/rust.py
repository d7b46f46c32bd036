"""Rust: `mod` beside or below the file, `use` from the crate, the module or the one above."""

from __future__ import annotations

import re

from repomap.importing.tree import Tree, folder_of
from repomap.model import Import

_ROOTS = ("lib.rs", "main.rs", "mod.rs")
_PART = re.compile(r"[A-Za-z_]\w*")


def resolve(tree: Tree, path: str, one: Import) -> tuple[str, ...]:
    """Find the file of a module."""
    own = _own_folder(path)
    if one.form == "mod":
        return _find(tree, own, [one.module])
    parts = _PART.findall(one.module.partition("{")[0])
    if not parts:
        return ()
    head, rest = parts[0], parts[1:]
    if head == "crate":
        return _longest(tree, _crate_folder(tree, path), rest)
    if head == "self":
        return _longest(tree, own, rest)
    folder = own
    while head == "super":
        folder = folder_of(folder)
        head, rest = (rest[0], rest[1:]) if rest else ("", [])
    return _longest(tree, folder, [head, *rest]) if folder != own else ()


def _own_folder(path: str) -> str:
    """Return where the modules of a file lie."""
    name = path.rpartition("/")[2]
    return folder_of(path) if name in _ROOTS else path.removesuffix(".rs")


def _crate_folder(tree: Tree, path: str) -> str:
    folder = folder_of(path)
    while folder:
        if any(f"{folder}/{root}" in tree.paths for root in _ROOTS[:2]):
            return folder
        folder = folder_of(folder)
    return ""


def _longest(tree: Tree, folder: str, parts: list[str]) -> tuple[str, ...]:
    for count in range(len(parts), 0, -1):
        if found := _find(tree, folder, parts[:count]):
            return found
    return ()


def _find(tree: Tree, folder: str, parts: list[str]) -> tuple[str, ...]:
    base = "/".join(part for part in (folder, *parts) if part)
    return tuple(p for p in (f"{base}.rs", f"{base}/mod.rs") if p in tree.paths)[:1]
