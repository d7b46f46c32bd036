"""Resolution of imports to the files they refer to, one row per language."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType

from repomap.importing import c, csharp, go, javascript, jvm, php, python, ruby, rust
from repomap.importing.tree import Read, Tree
from repomap.model import Import

Resolve = Callable[[Tree, str, Import], tuple[str, ...]]

MODULE_CHARS = 1000
"""Limit of length: no longer name of a module refers to a file."""

RESOLVERS: Mapping[str, Resolve] = MappingProxyType(
    {
        "python": python.resolve,
        "javascript": javascript.resolve,
        "typescript": javascript.resolve,
        "tsx": javascript.resolve,
        "vue": javascript.resolve,
        "svelte": javascript.resolve,
        "go": go.resolve,
        "rust": rust.resolve,
        "c": c.resolve,
        "cpp": c.resolve,
        "objc": c.resolve,
        "java": jvm.resolve,
        "kotlin": jvm.resolve,
        "scala": jvm.resolve,
        "groovy": jvm.resolve,
        "csharp": csharp.resolve,
        "ruby": ruby.resolve,
        "php": php.resolve,
    }
)
"""Languages whose imports are resolved; other imports stay names."""


class Resolver:
    """Resolver of imports among the files of one map."""

    def __init__(self, paths: Collection[str], read: Read) -> None:
        """Index the paths; `read` returns the bytes of a configuration file, or None."""
        self._tree = Tree(paths, read)

    def resolve(self, path: str, language: str | None, one: Import) -> tuple[str, ...]:
        """Return the files that an import in `path` refers to, sorted; empty for external ones."""
        resolve = RESOLVERS.get(language or "")
        if resolve is None or not 0 < len(one.module) <= MODULE_CHARS:
            return ()
        return tuple(sorted(set(resolve(self._tree, path, one)) & self._tree.paths))
