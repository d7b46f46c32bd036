"""Rust: `mod` next to or below the file; `use` from the crate, the module, or another crate."""

from __future__ import annotations

import re

from repomap.importing.tree import MODULE_CHARS, QUOTES, Tree, folder_of, join, list_above, place
from repomap.model import Import

LANGUAGES = {"rust": ("rust/imports.scm",)}

_NAME = "Cargo.toml"
_TABLE = re.compile(r"\[ *([\w.-]+) *\]")
_CRATES_MAX = 2000
_FIRST = ("lib.rs", "main.rs")


def find_crate_root(tree: Tree, path: str) -> str | None:
    """Return the first file of the crate of a file; None if it is not found."""
    return tree.once(_find_above, folder_of(path))


def _find_above(tree: Tree, folder: str) -> str | None:
    ways = (place(one, name) for one in list_above(folder) for name in _FIRST)
    return next((way for way in ways if way in tree.paths), None)


def find_crate(tree: Tree, name: str) -> str | None:
    """Return the first file of a library, by the name that programs use."""
    return tree.once(_index_crates, None).get(name)


def _index_crates(tree: Tree, _: None) -> dict[str, str]:
    found: dict[str, str] = {}
    for config in tree.by_name.get(_NAME, ())[:_CRATES_MAX]:
        rows = _read_rows(tree.read(config))
        name = rows.get(("lib", "name")) or rows.get(("package", "name"), "")
        file = join(folder_of(config), rows.get(("lib", "path"), "src/lib.rs"))
        if name and file in tree.paths and file is not None:
            found.setdefault(name.replace("-", "_"), file)
    return found


def _read_rows(data: bytes) -> dict[tuple[str, str], str]:
    """Return the texts of a TOML file by table and key, line by line. A full parser takes quadratic
    time for keys of very many parts."""
    found: dict[tuple[str, str], str] = {}
    table = ""
    for line in data.decode("utf-8", "replace").splitlines():
        text = line.strip()
        if text.startswith("["):
            named = _TABLE.match(text)
            table = named[1] if named else ""
            continue
        key, equals, value = text.partition("=")
        value = value.strip()
        if equals and value[:1] in ('"', "'"):
            found.setdefault((table, key.strip()), value[1:].partition(value[0])[0])
    return found


_ROOTS = ("lib.rs", "main.rs", "mod.rs")
_ROOT_FOLDERS = frozenset(["bin", "tests", "examples", "benches"])
"""Folders in which each file is a crate's root, with its modules next to it."""

_PART = re.compile(r"[A-Za-z_]\w*|[{},*]")
_ENDS = frozenset([",", "}"])
_WHOLE = frozenset(["self", "*"])
_USES_MAX = 64


def read_module(module: str, call: str) -> Import:
    """Return a use, without its paths beyond the length limit."""
    del call
    if len(module) > MODULE_CHARS:
        module = module[:MODULE_CHARS].rpartition(",")[0]
    return Import(module.strip(QUOTES), (), "use")


def resolve(tree: Tree, path: str, one: Import) -> tuple[str, ...]:
    """Find the file of a module, or the files that a `use` imports."""
    if one.form == "mod":
        return _find(tree, _own_folder(path), [one.module]) or _beside_root(tree, path, one.module)
    found: list[str] = []
    for parts in _spell_out(one.module):
        for last in one.names[:_USES_MAX] or ("",):
            found += _resolve_use(tree, path, [*parts, last] if last else parts)
    return tuple(found)


def _resolve_use(tree: Tree, path: str, parts: list[str]) -> tuple[str, ...]:
    own = _own_folder(path)
    head, rest = parts[0], parts[1:]
    if head == "crate":
        return _in_crate(tree, find_crate_root(tree, path), rest)
    if head in ("self", "super"):
        folder = own
        while head == "super":
            folder = folder_of(folder)
            head, rest = (rest[0], rest[1:]) if rest else ("", [])
        named = rest if head in ("self", "") else [head, *rest]
        return _longest(tree, folder, named) or _module_file(tree, folder)
    inner = _longest(tree, own, parts)
    return inner or _in_crate(tree, tree.once(find_crate, head), rest)


def _in_crate(tree: Tree, root: str | None, parts: list[str]) -> tuple[str, ...]:
    """Find a module below a crate's first file, which has all names without a module."""
    return () if root is None else _longest(tree, folder_of(root), parts) or (root,)


def _beside_root(tree: Tree, path: str, module: str) -> tuple[str, ...]:
    folder = folder_of(path)
    is_root = folder.rpartition("/")[2] in _ROOT_FOLDERS or path.rpartition("/")[2] == "build.rs"
    return _find(tree, folder, [module]) if is_root else ()


def _own_folder(path: str) -> str:
    """Return the folder of a file's modules."""
    name = path.rpartition("/")[2]
    return folder_of(path) if name in _ROOTS else path.removesuffix(".rs")


def _module_file(tree: Tree, folder: str) -> tuple[str, ...]:
    """Return the file of the module whose modules are in a folder."""
    ways = (f"{folder}.rs", *(place(folder, name) for name in ("mod.rs", "lib.rs", "main.rs")))
    return tuple(way for way in ways if way in tree.paths)[:1]


def _longest(tree: Tree, folder: str, parts: list[str]) -> tuple[str, ...]:
    for count in range(min(len(parts), 16), 0, -1):
        if found := _find(tree, folder, parts[:count]):
            return found
    return ()


def _find(tree: Tree, folder: str, parts: list[str]) -> tuple[str, ...]:
    base = place(folder, "/".join(parts))
    return tuple(p for p in (f"{base}.rs", f"{base}/mod.rs") if p in tree.paths)[:1]


def _spell_out(use: str) -> list[list[str]]:
    """Return each path of a `use` in full: `a::{b, c::d}` are two."""
    found: list[list[str]] = []
    outer: list[list[str]] = []
    begin: list[str] = []
    path: list[str] = []
    is_alias = False
    for part in _PART.findall(use):
        if part == "{":
            outer.append(begin)
            begin, path = path, list(path)
        elif part in _ENDS:
            if path != begin:
                found.append(path)
            if part == "}" and outer:
                begin = outer.pop()
            path, is_alias = list(begin), False
        elif part in _WHOLE and path:
            found.append(list(path))
        elif part == "as":
            is_alias = True
        elif part != "*" and not is_alias:
            path.append(part)
        if len(found) >= _USES_MAX:
            break
    if path != begin:
        found.append(path)
    return list({tuple(one): one for one in found}.values())
