"""Lazy exports of packages: names in a stub, each loaded at its first use."""

from __future__ import annotations

import re
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # hooks import this module
    from collections.abc import Callable

_LISTED = re.compile(r"^from \.([\w.]+) import \(?\s*(\w+) as \2\b", re.MULTILINE)


def lend_names(package: str, file: str) -> Callable[[str], object]:
    """Return the `__getattr__` of a package whose `__init__.pyi`, next to `file`, lists its names.
    Type checkers read the same stub. The package itself loads nothing, so that a hook loads only
    the modules of the names it uses."""
    modules: dict[str, str] = {}

    def find(name: str) -> object:
        if not modules:
            with open(f"{file.removesuffix('c')}i", encoding="utf-8") as stub:
                modules.update((found[2], found[1]) for found in _LISTED.finditer(stub.read()))
        if name not in modules:  # it may be a module, which is imported next
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = __import__(f"{package}.{modules[name]}", fromlist=(name,))
        value: object = getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    return find
