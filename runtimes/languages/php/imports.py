"""PHP: included files by path, classes by the folders of namespaces in composer.json."""

from __future__ import annotations

import re

from repomap.importing.statements import drop_keywords, split_uses
from repomap.importing.tree import Tree, find_nearest, folder_of, join, read_json_object
from repomap.model import Import

LANGUAGES = {"php": ("php/imports.scm",)}
_FILE = re.compile(
    r"(?:require|include)(?:_once)?[ (]{0,4}(?:(?:__DIR__|dirname ?\( ?__FILE__ ?\)) ?\. ?)?"
    r"(?:'([^'$]{1,300})'|\"([^\"$]{1,300})\")[ )]{0,4}"
)

_CONFIG = "composer.json"
_PREFIXES_MAX = 500


def _read_php(text: str) -> list[Import]:
    if text.startswith("use "):
        uses = split_uses(drop_keywords(text, "use", "function", "const"))
        return [Import(path.rstrip("\\ ").replace(" ", ""), names, "use") for path, names in uses]
    file = _FILE.fullmatch(text)
    return [Import(file[1] or file[2], (), "file")] if file else []


READERS = {"php": _read_php}


def resolve(tree: Tree, path: str, one: Import) -> tuple[str, ...]:
    """Find an included file, or the file of each class that is used."""
    if one.form == "file":
        return _find_file(tree, path, one.module)
    found: list[str] = []
    for name in one.names[:100] or ("",):
        full = "\\".join(part for part in (one.module.strip("\\"), name.strip("\\")) if part)
        found += _find_class(tree, path, full)
    return tuple(found)


def _find_file(tree: Tree, path: str, module: str) -> tuple[str, ...]:
    # The path after `__DIR__ .` begins with a slash, and is relative to this folder.
    bare = module.lstrip("/")
    for folder in (folder_of(path), ""):
        target = join(folder, bare)
        if target and target in tree.paths:
            return (target,)
    return () if bare.startswith(".") else tree.only(bare)


def _find_class(tree: Tree, path: str, name: str) -> tuple[str, ...]:
    parts = name.split("\\")
    prefixes = tree.once(_index_prefixes, None)
    for count in range(len(parts) - 1, -1, -1):
        folders = prefixes.get("\\".join(parts[:count]), [])
        rest = "/".join(parts[count:])
        ways = [way for folder in folders if (way := join(folder, f"{rest}.php"))]
        fits = [way for way in ways if way in tree.paths]
        if nearest := find_nearest(path, fits) or tuple(fits[:1]):
            return nearest
    return tree.only(f"{'/'.join(parts)}.php") if len(parts) > 1 else ()


def _index_prefixes(tree: Tree, _: None) -> dict[str, list[str]]:
    """Return folders by namespace, from the repository's composer.json files."""
    found: dict[str, list[str]] = {}
    for config in tree.by_name.get(_CONFIG, ())[:_PREFIXES_MAX]:
        whole = read_json_object(tree, config)
        for section in ("autoload", "autoload-dev"):
            loading = whole.get(section)
            rows = loading.get("psr-4") if isinstance(loading, dict) else None
            for prefix, value in (
                list(rows.items())[:_PREFIXES_MAX] if isinstance(rows, dict) else ()
            ):
                folders = found.setdefault(prefix.strip("\\"), [])
                for one in (value if isinstance(value, list) else [value])[:8]:
                    target = join(folder_of(config), one) if isinstance(one, str) else None
                    if target is not None and target not in folders and len(folders) < 64:
                        folders.append(target)
    return found
