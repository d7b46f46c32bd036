"""JavaScript and TypeScript: relative paths, `index`, paths and base folder of tsconfig."""

from __future__ import annotations

import json
import re
from typing import Any

from repomap.importing.tree import Tree, folder_of, join
from repomap.model import Import

ENDINGS = (".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts", ".json",
           ".vue", ".svelte")  # fmt: skip
_CONFIGS = ("tsconfig.json", "jsconfig.json", "tsconfig.base.json")
_TRAILING = re.compile(r",(?=\s{0,200}[}\]])")


def resolve(tree: Tree, path: str, one: Import) -> tuple[str, ...]:
    """Find a file by a relative path, by a path of the configuration, or by the base folder."""
    if one.module.startswith("."):
        target = join(folder_of(path), one.module)
        return () if target is None else _find(tree, target)
    folder = folder_of(path)
    while True:
        for name in _CONFIGS:
            config = f"{folder}/{name}" if folder else name
            if config in tree.paths and (found := _by_config(tree, config, one.module)):
                return found
        if not folder:
            return ()
        folder = folder_of(folder)


def _find(tree: Tree, target: str) -> tuple[str, ...]:
    if target in tree.paths:
        return (target,)
    stem = re.sub(r"\.[cm]?jsx?$", "", target)
    for base in dict.fromkeys((target, stem)):
        for ending in ENDINGS:
            if f"{base}{ending}" in tree.paths:
                return (f"{base}{ending}",)
    inside = f"{target}/index" if target != "." else "index"
    return next(((f"{inside}{e}",) for e in ENDINGS if f"{inside}{e}" in tree.paths), ())


def _by_config(tree: Tree, config: str, module: str) -> tuple[str, ...]:
    options = _read_options(tree, config)
    base_url, paths = options.get("baseUrl"), options.get("paths")
    base = join(folder_of(config), base_url) if isinstance(base_url, str) else folder_of(config)
    if base is None:
        return ()
    for pattern, targets in paths.items() if isinstance(paths, dict) else ():
        head, star, tail = str(pattern).partition("*")
        if not (module.startswith(head) and module.endswith(tail)) or (not star and module != head):
            continue
        middle = module[len(head) : len(module) - len(tail)] if star else ""
        for target in targets if isinstance(targets, list) else ():
            place = join(base, str(target).replace("*", middle, 1))
            if place is not None and (found := _find(tree, place)):
                return found
    if isinstance(base_url, str):
        place = join(base, module)
        return () if place is None else _find(tree, place)
    return ()


def _read_options(tree: Tree, config: str) -> dict[str, Any]:
    data = tree.read(config)
    try:
        whole = json.loads(_TRAILING.sub("", without_comments((data or b"").decode())))
        options = whole.get("compilerOptions", {})
    except (ValueError, AttributeError, RecursionError):
        return {}
    return options if isinstance(options, dict) else {}


def without_comments(text: str) -> str:
    """Return JSON without the comments that configurations have, in one pass."""
    return re.sub(
        r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/', lambda m: m[1] or " ", text
    )
