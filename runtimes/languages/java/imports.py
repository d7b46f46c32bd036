"""Java, Kotlin and Scala: a type's path follows from its package and name."""

from __future__ import annotations

from repomap.importing.statements import ALIAS, drop_keywords, split_uses
from repomap.importing.tree import Tree, find_nearest, folder_of
from repomap.model import Import

_QUERIES = ("java/imports.scm",)
LANGUAGES = {
    "java": _QUERIES,
    "scala": _QUERIES,
    "kotlin": ("kotlin/imports.scm",),
    "groovy": (),
}

_ENDINGS = (".java", ".kt", ".scala", ".groovy")
_NESTED_MAX = 4
"""Levels at which a member may be nested in the type that its file is named after."""


def _read_java(text: str) -> list[Import]:
    return [Import(drop_keywords(text, "import", "static").replace(" ", ""))]


def _read_kotlin(text: str) -> list[Import]:
    return [Import(ALIAS.split(drop_keywords(text, "import"), maxsplit=1)[0].replace(" ", ""))]


def _read_scala(text: str) -> list[Import]:
    uses = split_uses(drop_keywords(text, "import"))
    return [Import(path.rstrip(". ").replace(" ", ""), names) for path, names in uses]


READERS = {"java": _read_java, "kotlin": _read_kotlin, "scala": _read_scala}


def resolve(tree: Tree, path: str, one: Import) -> tuple[str, ...]:
    """Find a type, the type of a member, or all files of a package."""
    own = f".{path.rpartition('.')[2]}"
    endings = (own, *(one for one in _ENDINGS if one != own)) if own in _ENDINGS else _ENDINGS
    found: list[str] = []
    for module in _spell_out(one):
        found += _find(tree, path, module, endings)
    return tuple(found)


def _spell_out(one: Import) -> list[str]:
    """Return each name in full: Scala imports several at once."""
    begin, brace, inner = one.module.partition("{")
    names = [name.split("=>")[0].split(" as ")[0] for name in inner.rstrip("} ").split(",")]
    if not brace:
        names = list(one.names) or [""]
    begin = begin.strip().removeprefix("_root_.").rstrip(".")
    return [".".join(part for part in (begin, name.strip()) if part) for name in names[:100]]


def _find(tree: Tree, path: str, module: str, endings: tuple[str, ...]) -> tuple[str, ...]:
    parts = module.split(".")
    if parts[-1] in ("*", "_", "given"):
        parts.pop()
        return _find_package(tree, path, parts, endings) or _find_type(tree, path, parts, endings)
    return _find_type(tree, path, parts, endings) or _find_package(tree, path, parts, endings)


def _find_type(
    tree: Tree, path: str, parts: list[str], endings: tuple[str, ...]
) -> tuple[str, ...]:
    # A name alone has no package: a file of that name may be unrelated.
    for count in range(len(parts), max(len(parts) - _NESTED_MAX, 1), -1):
        stem = "/".join(parts[:count])
        for ending in endings:
            if fits := tree.find_ending(f"{stem}{ending}"):
                return find_nearest(path, fits)
    return ()


def _find_package(
    tree: Tree, path: str, parts: list[str], endings: tuple[str, ...]
) -> tuple[str, ...]:
    if len(parts) < 2:
        return ()
    folders = tree.find_folders_ending("/".join(parts))
    # Tests are often in a folder of the same package: only the sources count.
    held = [one for one in folders if tree.list_folder(one, endings)]
    main = [one for one in held if not {"test", "androidTest"} & set(one.split("/"))]
    nearest = find_nearest(folder_of(path), main or held)
    return tree.list_folder(nearest[0], endings) if nearest else ()
