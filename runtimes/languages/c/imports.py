"""C and related languages: includes next to the file, or below a folder of headers."""

from __future__ import annotations

from repomap.importing.tree import QUOTES, Tree, find_nearest, folder_of, join
from repomap.model import Import

LANGUAGES = dict.fromkeys(("c", "cpp", "objc"), ("c/imports.scm",))

_SYSTEMS = frozenset(
    ["arpa", "asm", "asm-generic", "bits", "c++", "ext", "gnu", "linux", "mach", "net", "netinet",
     "sys"]
)  # fmt: skip
"""Folders of system headers: a repository's own copy is for systems without them."""


def read_module(module: str, call: str) -> Import:
    """Return an include with the form of its quotes."""
    del call
    return Import(module.strip(QUOTES), (), "angled" if module.startswith("<") else "quoted")


def resolve(tree: Tree, path: str, one: Import) -> tuple[str, ...]:
    """Find a quoted include next to the file, then any in a folder `include`, then by its
    ending."""
    is_quoted = one.form != "angled"
    if is_quoted:
        beside = join(folder_of(path), one.module)
        if beside in tree.paths and beside:
            return (beside,)
    wanted = _strip_dots(one.module)
    if not wanted:
        return ()
    if below := tree.find_ending(f"include/{wanted}"):
        return find_nearest(path, below)
    top, slash, _ = wanted.partition("/")
    return tree.only(wanted) if is_quoted or (slash and top not in _SYSTEMS) else ()


def _strip_dots(module: str) -> str:
    parts = module.split("/")
    while parts and parts[0] in (".", "..", ""):
        parts.pop(0)
    return "/".join(parts)
