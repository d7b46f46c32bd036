"""From what a file imports to the files that it means, a row a language."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType

from repomap.importing import by_path, go, javascript, python, rust
from repomap.importing.tree import Read, Tree
from repomap.model import Import

Resolve = Callable[[Tree, str, Import], tuple[str, ...]]

RESOLVERS: Mapping[str, Resolve] = MappingProxyType(
    {
        "python": python.resolve,
        "javascript": javascript.resolve,
        "typescript": javascript.resolve,
        "tsx": javascript.resolve,
        "go": go.resolve,
        "rust": rust.resolve,
        "c": by_path.resolve_include,
        "cpp": by_path.resolve_include,
        "java": by_path.resolve_java,
        "ruby": by_path.resolve_ruby,
    }
)
"""Other languages' imports stay names."""


class Resolver:
    """Resolves imports among the files of one map."""

    def __init__(self, paths: Collection[str], read: Read) -> None:
        """Index the paths; `read` gives the bytes of a configuration file, or None."""
        self._tree = Tree(paths, read)

    def resolve(self, path: str, language: str | None, one: Import) -> tuple[str, ...]:
        """Return the files that an import in `path` means, sorted; none where it leads outside."""
        resolve = RESOLVERS.get(language or "")
        return () if resolve is None else tuple(sorted(set(resolve(self._tree, path, one))))
