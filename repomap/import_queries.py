"""Imports of a program, per language, by queries over its syntax tree.

The queries are files of the languages' folders. They have no predicates, which are quadratic in
some grammars. `@module` is the imported module, `@call` a function that imports, `@from` a
statement with names, `@mod` a module of Rust. `@text` is a statement or expression that a function
of `READERS` reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING

from kb import grammars
from kb.parsing import MAX_DEPTH
from repomap.importing import load_importers
from repomap.importing.tree import MODULE_CHARS, QUOTES
from repomap.model import Import
from runtimes.languages import read_file

if TYPE_CHECKING:
    from tree_sitter import Node, Query


IMPORTS_MAX = 1000
NAMES_MAX = 100
_TEXT_BYTES = 8192
_IMPORTERS = load_importers()
QUERIES = {
    language: "".join(map(read_file, files))
    for language, importer in _IMPORTERS.items()
    if (files := importer.LANGUAGES[language])
}


@cache
def _query(language: str) -> Query:
    from tree_sitter import Query  # noqa: PLC0415 - see grammars.grammar

    grammar, _ = grammars.grammar(language)
    return Query(grammar, QUERIES[language])


def find_imports(data: bytes, language: str, root: Node) -> tuple[Import, ...]:
    """Return the imports of a program, in order; empty for languages without a row."""
    if language not in QUERIES:
        return ()
    from tree_sitter import QueryCursor  # noqa: PLC0415 - see grammars.grammar

    cursor = QueryCursor(_query(language))
    cursor.set_max_start_depth(MAX_DEPTH)
    found: dict[Import, None] = {}
    for _, captures in cursor.matches(root):
        for one in _read_match(data, language, captures):
            if 0 < len(one.module) <= MODULE_CHARS:
                found.setdefault(one)
        if len(found) >= IMPORTS_MAX:
            break
    return tuple(found)[:IMPORTS_MAX]


def _read_match(
    data: bytes, language: str, captures: Mapping[str, list[Node]]
) -> tuple[Import, ...]:
    """Return the imports of one match of a query."""
    calls = captures.get("call")
    call = (
        data[calls[0].start_byte : calls[0].end_byte][:40].decode("utf-8", "replace")
        if calls
        else ""
    )
    importer = _IMPORTERS[language]
    if calls and call not in importer.CALLS:
        return ()
    texts = [_read(data, node) for node in captures.get("text", ())]
    found = [one for text in texts for one in importer.READERS[language](text)]
    found += [Import(_read(data, node), (), "mod") for node in captures.get("mod", ())]
    for node in captures.get("module", ()):
        taken = _find_taken(data, captures["from"][0], node) if "from" in captures else ()
        if one := _make(_read(data, node), taken, importer, call):
            found.append(one)
    return tuple(found)


def _make(module: str, names: tuple[str, ...], importer: ModuleType, call: str) -> Import | None:
    if hasattr(importer, "read_module"):
        found: Import | None = importer.read_module(module, call)
        return found
    return Import(module.strip(QUOTES), names)


def _find_taken(data: bytes, statement: Node, module: Node) -> tuple[str, ...]:
    """Return the names that a `from` statement of Python imports."""
    names = []
    for node in statement.children_by_field_name("name"):
        if node.id != module.id:
            inner = node.child_by_field_name("name") or node
            names.append(_read(data, inner)[:MODULE_CHARS])
    return tuple(names[:NAMES_MAX])


def _read(data: bytes, node: Node) -> str:
    """Return the text of a node in one line, without line ends of comments."""
    end = min(node.end_byte, node.start_byte + _TEXT_BYTES)
    return " ".join(data[node.start_byte : end].decode("utf-8", "replace").split())
