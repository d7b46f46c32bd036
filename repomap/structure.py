"""Definitions, references and imports of one file, from a single parse."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from kb import grammars
from kb.parsing import find_definitions, is_parsed, parse
from repomap.import_queries import find_imports
from repomap.model import LINE_CHARS, Structure
from repomap.purposes import describe_purpose, find_headings

if TYPE_CHECKING:
    from tree_sitter import Node
from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING

from base.wordlist import read_rows
from kb.parsing import Definition
from repomap.model import Symbol
from repomap.purposes import find_note

if TYPE_CHECKING:
    from tree_sitter import Node

SYMBOLS_MAX = 2000
SKELETON_LINES = 200
SKELETON_BYTES = 12 * 1024
KINDS = frozenset(["function", "method", "class", "type", "module", "constant", "definition"])
_KIND_ROWS = read_rows(__file__, "outlining.txt")
"""Parts of a syntax node's label with the kind of its definition; the first match counts."""

_WHOLE_LABELS = dict.fromkeys(["def", "defp", "defguard", "defdelegate", "test"], "function")
"""Words of Elixir that are too short to be searched as parts."""

_HOLD_METHODS = ("impl_item", "object")
_WORD = re.compile(rb"\w{1,40}")
_VALUES = ("value", "right", "rhs")
_VALUE_TYPES = frozenset(["variable_declarator", "function_definition", "let_binding"])
_BODY_ENDINGS = ("body", "block", "compound_statement")


def outline(data: bytes, definitions: Sequence[Definition]) -> tuple[tuple[Symbol, ...], str]:
    """Return the symbols, and the skeleton: signatures with their first line of documentation."""
    line_ends = [match.start() for match in re.finditer(b"\n", data)]
    symbols: list[Symbol] = []
    skeleton = _Skeleton()
    enclosing: list[tuple[int, str, bool]] = []  # the end, the name, whether it holds methods
    for one in definitions:
        name = one.name[:LINE_CHARS].strip()
        if not name:
            continue
        if len(symbols) == SYMBOLS_MAX:
            break
        while enclosing and enclosing[-1][0] <= one.start:
            enclosing.pop()
        label = _label(data, one.node)
        kind = _name_kind(label, is_member=bool(enclosing) and enclosing[-1][2])
        parent = ".".join(outer for _, outer, _ in enclosing)[:LINE_CHARS]
        signature = read_signature(data, one.node)
        first = bisect_right(line_ends, one.start - 1) + 1
        last = bisect_right(line_ends, max(one.start, one.end - 1) - 1) + 1
        symbols.append(Symbol(name, kind, parent, first, last, signature))
        if skeleton.has_room and (kind != "constant" or enclosing):
            skeleton.add(len(enclosing), signature, find_note(data, one))
        holds = kind in ("class", "type") or any(part in label for part in _HOLD_METHODS)
        enclosing.append((one.end, name, holds))
    return tuple(symbols), "\n".join(skeleton.lines)


class _Skeleton:
    """Lines up to a limit."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.has_room = True
        self._bytes = 0

    def add(self, depth: int, signature: str, note: str) -> None:
        line = "  " * min(depth, 40) + signature + (f"  # {note}" if note else "")
        self._bytes += len(line.encode()) + 1
        if self._bytes > SKELETON_BYTES:
            self.has_room = False
            return
        self.lines.append(line)
        self.has_room = len(self.lines) < SKELETON_LINES


def _label(data: bytes, node: Node) -> str:
    """Return the label of a node's kind: its type, or its first word if all nodes have one type."""
    if node.type == "call":  # Elixir's, where `defmodule` and `def` are calls
        word = _WORD.match(data, node.start_byte)
        return word[0].decode("utf-8", "replace") if word else node.type
    if node.type == "Decl" and node.named_child_count:  # Zig's
        return getattr(node.named_child(0), "type", node.type)
    return node.type


def _name_kind(label: str, *, is_member: bool) -> str:
    kind = _WHOLE_LABELS.get(label)
    if kind is None:
        kind = next((kind for part, kind in _KIND_ROWS if part in label), "definition")
    return "method" if kind == "function" and is_member else kind


def read_signature(data: bytes, node: Node) -> str:
    """Return the head of a definition, up to its body, in one line."""
    body = _find_body(node)
    end = body.start_byte if body is not None and body.start_byte > node.start_byte else None
    head = data[node.start_byte : min(end or node.end_byte, node.start_byte + 4 * LINE_CHARS)]
    text = head.decode("utf-8", "replace")
    if end is None:
        text = text.partition("\n")[0]
    return " ".join(text.split()).removesuffix("=>").rstrip(" {:=")[:LINE_CHARS]


def _find_body(node: Node) -> Node | None:
    """Return the part after a definition's head: its body, or that of the function it names."""
    inner = node
    for _ in range(4):
        if body := inner.child_by_field_name("body"):
            return body
        value = next((v for name in _VALUES if (v := inner.child_by_field_name(name))), None)
        if value is None:
            value = next((v for v in inner.named_children if v.type in _VALUE_TYPES), None)
        if value is None:
            break
        inner = value
    ends = (child for child in reversed(inner.children) if child.type.endswith(_BODY_ENDINGS))
    return next(ends, inner if inner.id != node.id else None)


REFERENCES_MAX = 2000
NAME_BYTES = 80
_NAME = re.compile(r"[^\W\d]\w{2,79}(?:-\w{1,79})*[?!]?")
"""Names of at least three letters; shorter ones are not significant. Dashes are PowerShell's, the
marks at the end Ruby's and Elixir's."""

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
"""Types of leaves that are names, besides those with the usual endings."""


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
    # A cursor takes the same time at any depth of the tree; a query does not.
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
    """Return a grammar's numbers for the types of names."""
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
    """Return whether a file is parsed, which may crash the parser."""
    return bool(data) and is_parsed(data, language)


def describe_structure(data: bytes, language: str | None) -> Structure:
    """Return the definitions, references and imports of a file. It never fails: a file that cannot
    be parsed has a note and only its purpose."""
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
    """Return the data of a file without its syntax: its purpose, and why there is no more."""
    return Structure(
        note=" ".join(note.split())[:LINE_CHARS], purpose=describe_purpose(data, language)
    )


def _describe_words(data: bytes, language: str | None) -> Structure:
    if data and language in grammars.QUERIES:
        return describe_unparsed(data, language, "it or one of its lines is too long for a parser")
    symbols = find_headings(data)[:SYMBOLS_MAX] if language == "markdown" else ()
    return Structure(symbols=symbols, purpose=describe_purpose(data, language))
