"""Repositories made of dicts, for tests of what imports mean."""

from __future__ import annotations

from collections.abc import Mapping

from repomap.importing import Resolver
from repomap.model import Import


def make(paths: str, configs: Mapping[str, str | bytes] | None = None) -> Resolver:
    """Return a resolver of a repository with these paths and the text of its configurations."""
    files: dict[str, bytes] = dict.fromkeys(paths.split(), b"")
    for path, text in (configs or {}).items():
        files[path] = text if isinstance(text, bytes) else text.encode()
    return Resolver(list(files), files.get)


def find(resolver: Resolver, language: str, path: str, *wanted: object) -> str:
    """Return what an import means, joined by spaces. `wanted`: the module, names and form."""
    return " ".join(resolver.resolve(path, language, Import(*wanted)))  # type: ignore[arg-type]
