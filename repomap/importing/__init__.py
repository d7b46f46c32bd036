"""Resolution of imports to the files they refer to, by `imports.py` in the folders of languages.

There, `LANGUAGES` names the files of queries of each language that it reads, `CALLS` functions that
import, and `READERS` read a statement. `read_module` returns the import of a module, `resolve` its
files.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType, ModuleType

from repomap.importing.tree import MODULE_CHARS, Read, Tree
from repomap.model import Import
from runtimes.languages import list_languages


@cache
def load_importers() -> Mapping[str, ModuleType]:
    """Load `imports.py` of all folders that have one; each by the languages that it reads."""
    folders = list_languages("imports.py")
    modules = [import_module(f"runtimes.languages.{name}.imports") for name in folders]
    return MappingProxyType({name: module for module in modules for name in module.LANGUAGES})


class Resolver:
    """Resolver of imports among the files of one map."""

    def __init__(self, paths: Collection[str], read: Read) -> None:
        """Index the paths; `read` returns the bytes of a configuration file, or None."""
        self._tree = Tree(paths, read)

    def resolve(self, path: str, language: str | None, one: Import) -> tuple[str, ...]:
        """Return the files that an import in `path` refers to, sorted; empty for external ones."""
        importer = load_importers().get(language or "")
        if importer is None or not 0 < len(one.module) <= MODULE_CHARS:
            return ()
        return tuple(sorted(set(importer.resolve(self._tree, path, one)) & self._tree.paths))
