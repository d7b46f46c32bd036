"""What a program imports, per language, as queries over its syntax tree.

A query has no predicates: in some grammars they are quadratic. `@module` is what is asked for,
`@name` what is taken of it, `@call` a function by which some languages import.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from kb import grammars
from kb.definitions import MAX_DEPTH
from repomap.model import Import

if TYPE_CHECKING:
    from tree_sitter import Node, Query

IMPORTS_MAX = 1000
_NAME_BYTES = 300
_JAVASCRIPT = """
(import_statement source: (string) @module)
(export_statement source: (string) @module)
(call_expression function: [(identifier) (import)] @call
  arguments: (arguments . (string) @module))
"""
QUERIES: Mapping[str, str] = MappingProxyType(
    {
        "python": """
            (import_statement name: (dotted_name) @module)
            (import_statement name: (aliased_import name: (dotted_name) @module))
            (import_from_statement module_name: (_) @module) @from
        """,
        "javascript": _JAVASCRIPT,
        "typescript": _JAVASCRIPT,
        "tsx": _JAVASCRIPT,
        "go": "(import_spec path: (_) @module)",
        "c": "(preproc_include path: (_) @module)",
        "cpp": "(preproc_include path: (_) @module)",
        "java": "(import_declaration (_) @module)",
        "rust": "(use_declaration argument: (_) @module) (mod_item name: (_) @mod !body)",
        "ruby": "(call method: (identifier) @call arguments: (argument_list . (string) @module))",
    }
)
CALLS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "javascript": frozenset(["require", "import"]),
        "typescript": frozenset(["require", "import"]),
        "tsx": frozenset(["require", "import"]),
        "ruby": frozenset(["require", "require_relative", "load", "autoload"]),
    }
)


@cache
def _query(language: str) -> Query:
    from tree_sitter import Query  # noqa: PLC0415 - see grammars.grammar

    return Query(grammars.grammar(language).language, QUERIES[language])


def find_imports(data: bytes, language: str, root: Node) -> tuple[Import, ...]:
    """Return what a program imports, in its order; nothing for languages without a row."""
    if language not in QUERIES:
        return ()
    from tree_sitter import QueryCursor  # noqa: PLC0415 - see grammars.grammar

    cursor = QueryCursor(_query(language))
    cursor.set_max_start_depth(MAX_DEPTH)
    found: dict[Import, None] = {}
    for _, captures in cursor.matches(root):
        call = captures.get("call")
        if call and _read(data, call[0]) not in CALLS[language]:
            continue
        form = _read(data, call[0]) if call and language == "ruby" else ""
        for node in captures.get("mod", ()):
            found.setdefault(Import(_read(data, node), (), "mod"))
        for node in captures.get("module", ()):
            taken = _find_taken(data, captures["from"][0], node) if "from" in captures else ()
            found.setdefault(_make(_read(data, node), taken, language, form))
        if len(found) >= IMPORTS_MAX:
            break
    return tuple(found)


def _make(module: str, names: tuple[str, ...], language: str, form: str) -> Import:
    if language in ("c", "cpp"):
        form = "angled" if module.startswith("<") else "quoted"
    if language == "rust":
        form = "use"
    if language == "ruby":
        form = "relative" if form == "require_relative" else ""
    return Import(module.strip("\"'`<>"), names, form)


def _find_taken(data: bytes, statement: Node, module: Node) -> tuple[str, ...]:
    """Return the names that a `from` statement of Python takes."""
    names = []
    for node in statement.children_by_field_name("name"):
        if node.id != module.id:
            inner = node.child_by_field_name("name") or node
            names.append(_read(data, inner))
    return tuple(names[:100])


def _read(data: bytes, node: Node) -> str:
    end = min(node.end_byte, node.start_byte + _NAME_BYTES)
    return data[node.start_byte : end].decode("utf-8", "replace")
