"""Loading of tree-sitter grammars, one at a time, when first needed."""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tree_sitter

PARSE_SECONDS_MAX = 0.4
CHUNK_BYTES = 4096

_PACKAGE = "tree_sitter_language_pack"

_OWN_PACKAGES = {"csharp": "tree_sitter_c_sharp"}  # grammars that the pack takes from elsewhere


@functools.cache
def parser(name: str) -> tree_sitter.Parser:
    """Load the parser for one grammar of the language pack; `name` as the pack spells it.

    The extension module is loaded by file: importing the package itself loads three other grammars
    first, 25 ms of a hook process that lives for 60.
    """
    import tree_sitter  # noqa: PLC0415 - loaded with the first program

    return tree_sitter.Parser(language(name))


def parse(name: str, data: bytes) -> tree_sitter.Tree | None:
    """Parse a text; return None if that takes longer than `PARSE_SECONDS_MAX`.

    The grammars recover from errors, on hostile text in quadratic time. A short text is passed
    whole: it cannot take long, and its nodes are read faster. Every text ends with a line feed: for
    a comment that the end of the text ends, Perl's scanner would look for ever.
    """
    data = data if data.endswith(b"\n") else data + b"\n"
    if len(data) <= CHUNK_BYTES:
        return parser(name).parse(data)
    deadline = time.thread_time() + PARSE_SECONDS_MAX
    try:
        return parser(name).parse(
            lambda offset, _: data[offset : offset + CHUNK_BYTES],
            progress_callback=lambda *_: time.thread_time() > deadline,
        )
    except ValueError:  # it was stopped
        parser(name).reset()
        return None


@functools.cache
def language(name: str) -> tree_sitter.Language:
    """Return the grammar itself, for queries."""
    import tree_sitter  # noqa: PLC0415 - loaded with the first program

    return tree_sitter.Language(_extension(name).language())


def _extension(name: str):  # type: ignore[no-untyped-def]  # noqa: ANN202 - a module's functions
    qualified = f"{_PACKAGE}.bindings.{name}"
    if module := sys.modules.get(qualified):
        return module
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise ImportError(f"{_PACKAGE} is not installed")
    folder = os.path.join(os.path.dirname(spec.origin), "bindings")
    file = next((file for file in os.listdir(folder) if file.startswith(f"{name}.")), None)
    if file is None and name in _OWN_PACKAGES:
        return importlib.import_module(_OWN_PACKAGES[name])
    if file is None:
        raise ImportError(f"{_PACKAGE} ships no grammar named {name}")
    module_spec = importlib.util.spec_from_file_location(qualified, os.path.join(folder, file))
    assert module_spec is not None
    assert module_spec.loader is not None
    module = importlib.util.module_from_spec(module_spec)
    module_spec.loader.exec_module(module)
    return module
