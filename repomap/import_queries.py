"""Imports of a program, per language, by queries over its syntax tree.

The queries are in `import_queries.toml`. They have no predicates, which are quadratic in some
grammars. `@module` is the imported module, `@call` a function that imports, `@from` a statement
with names, `@mod` a module of Rust. `@text` is a statement or expression that
`repomap.import_queries` reads.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from kb import grammars
from kb.parsing import MAX_DEPTH
from repomap.model import Import

if TYPE_CHECKING:
    from tree_sitter import Node, Query

MODULE_CHARS = 1000
_USES_MAX = 100
_SPLIT = re.compile(r"[{},]")
_ALIAS = re.compile(r" (?:as|=>) ")
_DOTTED = re.compile(r"[\w.@]+")
_PHP_FILE = re.compile(
    r"(?:require|include)(?:_once)?[ (]{0,4}(?:(?:__DIR__|dirname ?\( ?__FILE__ ?\)) ?\. ?)?"
    r"(?:'([^'$]{1,300})'|\"([^\"$]{1,300})\")[ )]{0,4}"
)


def _without(text: str, *words: str) -> str:
    """Return a statement without its leading keywords and its semicolon."""
    text = text.rstrip("; ")
    for word in words:
        text = text.removeprefix(f"{word} ").lstrip()
    return text


def _split_uses(text: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return each path with the names in its braces: `a, b.{c, d}` are `a`, and `b.` with two
    names."""
    found: list[tuple[str, tuple[str, ...]]] = []
    names: list[str] = []
    prefix, at, is_open = "", 0, False
    for match in [*_SPLIT.finditer(text), None]:
        part = _ALIAS.split(text[at : match.start() if match else len(text)], maxsplit=1)[0]
        part = part.strip()
        at = match.end() if match else at
        mark = match[0] if match else ""
        if mark == "{":
            prefix, names, is_open = part, [], True
        elif is_open:
            names += [part] if part else []
            if mark in ("}", ""):
                found.append((prefix, tuple(names[:_USES_MAX])))
                is_open = False
        elif part:
            found.append((part, ()))
    return found[:_USES_MAX]


def _read_java(text: str) -> list[Import]:
    return [Import(_without(text, "import", "static").replace(" ", ""))]


def _read_kotlin(text: str) -> list[Import]:
    return [Import(_ALIAS.split(_without(text, "import"), maxsplit=1)[0].replace(" ", ""))]


def _read_scala(text: str) -> list[Import]:
    uses = _split_uses(_without(text, "import"))
    return [Import(path.rstrip(". ").replace(" ", ""), names) for path, names in uses]


def _read_csharp(text: str) -> list[Import]:
    bare = _without(text, "global", "using", "static", "unsafe").rpartition("=")[2]
    name = bare.partition("<")[0].strip().removeprefix("global::").replace(" ", "")
    return [Import(name)] if _DOTTED.fullmatch(name) else []  # others are tuples and arrays


def _read_php(text: str) -> list[Import]:
    if text.startswith("use "):
        uses = _split_uses(_without(text, "use", "function", "const"))
        return [Import(path.rstrip("\\ ").replace(" ", ""), names, "use") for path, names in uses]
    file = _PHP_FILE.fullmatch(text)
    return [Import(file[1] or file[2], (), "file")] if file else []


READERS: Mapping[str, Callable[[str], list[Import]]] = MappingProxyType(
    {
        "java": _read_java,
        "kotlin": _read_kotlin,
        "scala": _read_scala,
        "csharp": _read_csharp,
        "php": _read_php,
    }
)
"""Functions that read the imports of a one-line statement, by language."""


IMPORTS_MAX = 1000
NAMES_MAX = 100
_TEXT_BYTES = 8192
_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
CALLS = {
    language: frozenset(name.encode() for name in names)
    for language, names in _TABLES["calls"].items()
}
"""Functions that import, by language."""


def _gather_queries() -> dict[str, str]:
    queries: dict[str, str] = {}
    for row in _TABLES["imports"]:
        for language in row["languages"]:
            queries[language] = queries.get(language, "") + row["query"]
    return queries


QUERIES = _gather_queries()


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
    call = data[calls[0].start_byte : calls[0].end_byte][:40] if calls else b""
    if calls and call not in CALLS[language]:
        return ()
    texts = [_read(data, node) for node in captures.get("text", ())]
    found = [one for text in texts for one in READERS[language](text)]
    found += [Import(_read(data, node), (), "mod") for node in captures.get("mod", ())]
    for node in captures.get("module", ()):
        taken = _find_taken(data, captures["from"][0], node) if "from" in captures else ()
        found += _make(_read(data, node), taken, language, call)
    return tuple(found)


def _make(module: str, names: tuple[str, ...], language: str, call: bytes) -> tuple[Import, ...]:
    form = ""
    if language in ("c", "cpp", "objc"):
        form = "angled" if module.startswith("<") else "quoted"
    elif language == "rust":
        form, module = "use", _cut_use(module)
    elif language == "ruby":
        form = "relative" if call == b"require_relative" else ""
        if "#{" in module:  # known only when the program runs
            return ()
    return (Import(module.strip("\"'`<>"), names, form),)


def _cut_use(module: str) -> str:
    """Return a Rust use without its paths beyond the length limit."""
    return module if len(module) <= MODULE_CHARS else module[:MODULE_CHARS].rpartition(",")[0]


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
