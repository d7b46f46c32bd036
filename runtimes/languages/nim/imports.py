"""Nim: a module is a file next to the importing one, or below a folder of sources."""

from __future__ import annotations

import re

from repomap.importing.tree import Tree, find_nearest, folder_of, join, list_above, place
from repomap.model import Import

LANGUAGES = {"nim": ("nim/imports.scm",)}

_KEYWORD = re.compile(r"^(?:import|include)\b")
_GROUP = re.compile(r"([^,\[\]]*)\[([^\]]*)\]")
_OTHER_NAME = re.compile(r"\s+(?:as|except)\s+.*$")
_ROOTS = ("", "src", "tests")


def _read_nim(text: str) -> list[Import]:
    """Return each module of a statement: `import a/[b, c], "d/e" as f` has three."""
    listed = _OTHER_NAME.sub("", _KEYWORD.sub("", text))
    written = _GROUP.sub(
        lambda found: ", ".join(f"{found[1].strip()}{one.strip()}" for one in found[2].split(",")),
        listed,
    )
    names = (_OTHER_NAME.sub("", one).strip().strip('"') for one in written.split(","))
    return [Import(name.replace(" ", "")) for name in names if name]


READERS = {"nim": _read_nim}


def resolve(tree: Tree, path: str, one: Import) -> tuple[str, ...]:
    """Find the file of a module; the standard library's have none here."""
    name = one.module if one.module.endswith(".nim") else f"{one.module}.nim"
    beside = join(folder_of(path), name)
    if beside in tree.paths and beside:
        return (beside,)
    for folder in list_above(folder_of(path)):
        for root in _ROOTS:
            if (found := place(place(folder, root) if root else folder, name)) in tree.paths:
                return (found,)
    return find_nearest(path, fits) if "/" in name and (fits := tree.find_ending(name)) else ()
