"""What one file defines, uses and asks for, from one parse of it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from kb import grammars
from kb.parsing import find_definitions, is_parsed, parse
from repomap.describing import describe_purpose, find_headings
from repomap.import_queries import find_imports
from repomap.model import LINE_CHARS, Structure
from repomap.outlining import SYMBOLS_MAX, outline

if TYPE_CHECKING:
    from tree_sitter import Node

REFERENCES_MAX = 2000
NAME_BYTES = 80
_NAME = re.compile(r"[^\W\d]\w{2,79}(?:-\w{1,79})*[?!]?")
"""Shorter names say nothing. Dashes are PowerShell's, the marks at the end Ruby's and Elixir's."""

_ENDINGS = ("identifier", "constant", "name")
_FURTHER: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "bash": frozenset(["word"]),
        "elixir": frozenset(["alias"]),
        "haskell": frozenset(["variable", "constructor"]),
        "make": frozenset(["word"]),
        "ocaml": frozenset(["type_constructor"]),
        "perl": frozenset(["bareword", "function", "package"]),
        "powershell": frozenset(["variable"]),
    }
)
"""Types of leaves that are names, beside those that end so in each language."""


def count_references(data: bytes, language: str, root: Node) -> tuple[tuple[str, int], ...]:
    """Return the names in a program, the most frequent first, without those of two letters."""
    counts: Counter[str] = Counter()
    for raw, count in Counter(_find_names(data, language, root)).items():
        name = raw.lstrip(b"$@").decode("utf-8", "replace")
        if _NAME.fullmatch(name):
            counts[name] += count
    common = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return tuple(common[:REFERENCES_MAX])


def _find_names(data: bytes, language: str, root: Node) -> list[bytes]:
    # A cursor, because it takes the same time however deep the tree is; a query does not.
    kinds = _name_kinds(language)
    found: list[bytes] = []
    cursor = root.walk()
    go_down, go_on, go_up = cursor.goto_first_child, cursor.goto_next_sibling, cursor.goto_parent
    while True:
        if go_down():
            continue
        node = cursor.node
        if node is not None and node.kind_id in kinds:
            start, end = node.start_byte, node.end_byte
            if 2 < end - start <= NAME_BYTES:
                found.append(data[start:end])
        while not go_on():
            if not go_up():
                return found


@cache
def _name_kinds(language: str) -> frozenset[int]:
    """Return the numbers that a grammar gives to the types of names."""
    grammar, _ = grammars.grammar(language)
    further = _FURTHER.get(language, frozenset())
    return frozenset(
        kind
        for kind in range(grammar.node_kind_count)
        if grammar.node_kind_is_named(kind)
        and (name := grammar.node_kind_for_id(kind)) is not None
        and (name.lower().endswith(_ENDINGS) or name in further)
    )


def needs_parser(data: bytes, language: str | None) -> bool:
    """Tell whether a file is put to a parser, which may die of it."""
    return bool(data) and is_parsed(data, language)


def describe_structure(data: bytes, language: str | None) -> Structure:
    """Return what a file defines, uses and asks for. It never fails: what a parser cannot read has
    a note, and its purpose alone."""
    if language is None or not needs_parser(data, language):
        return _describe_words(data, language)
    try:
        root = parse(data, language)
        symbols, skeleton = outline(data, find_definitions(data, language, root))
        return Structure(
            symbols=symbols,
            references=count_references(data, language, root),
            imports=find_imports(data, language, root),
            purpose=describe_purpose(data, language),
            skeleton=skeleton,
        )
    except (TimeoutError, ValueError) as error:
        return describe_unparsed(data, language, str(error))


def describe_unparsed(data: bytes, language: str | None, note: str) -> Structure:
    """Return what is known of a file without its syntax: what it is for, and why no more."""
    return Structure(
        note=" ".join(note.split())[:LINE_CHARS], purpose=describe_purpose(data, language)
    )


def _describe_words(data: bytes, language: str | None) -> Structure:
    if data and language in grammars.QUERIES:
        return describe_unparsed(data, language, "it or a line of it is too long for a parser")
    symbols = find_headings(data)[:SYMBOLS_MAX] if language == "markdown" else ()
    return Structure(symbols=symbols, purpose=describe_purpose(data, language))
