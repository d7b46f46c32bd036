"""What one file defines, uses and asks for, from one parse of it."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from kb.definitions import Definition, find_definitions
from kb.parsing import is_parsed, parse
from repomap.describing import describe_purpose, find_headings, find_note
from repomap.import_queries import find_imports
from repomap.model import LINE_CHARS, Structure, Symbol

if TYPE_CHECKING:
    from tree_sitter import Node

SYMBOLS_MAX = 2000
REFERENCES_MAX = 2000
SKELETON_CHARS = 12_000
SKELETON_LINES = 200
_NAME = re.compile(rb"[A-Za-z_]\w{2,79}")
_PROSE = frozenset(["markdown", "rst", "asciidoc"])
_KINDS = (
    ("class", "class"),
    ("constructor", "method"),
    ("method", "method"),
    ("interface", "type"),
    ("struct", "type"),
    ("trait", "type"),
    ("protocol", "type"),
    ("enum", "type"),
    ("union", "type"),
    ("record", "type"),
    ("type", "type"),
    ("namespace", "module"),
    ("module", "module"),
    ("mod_item", "module"),
    ("impl", "module"),
    ("object", "module"),
    ("function", "function"),
    ("subroutine", "function"),
    ("macro", "function"),
    ("call", "function"),
    ("const", "constant"),
    ("static", "constant"),
    ("var", "constant"),
)
"""Parts of a syntax node's type, the first that fits counts, and the kind of its definition."""

_BODIES = ("body", "block", "value", "consequence")


def needs_parser(data: bytes, language: str | None) -> bool:
    """Tell whether a file is put to a parser, which may die of it."""
    return bool(data) and is_parsed(data, language)


def describe_structure(data: bytes, language: str | None) -> Structure:
    """Return what a file defines, uses and asks for. It never fails: what a parser cannot read has
    a note, and its purpose alone."""
    if language is None or not needs_parser(data, language):
        symbols = find_headings(data) if language in _PROSE else ()
        return Structure(symbols=symbols[:SYMBOLS_MAX], purpose=describe_purpose(data, language))
    try:
        root = parse(data, language)
        definitions = find_definitions(data, language, root)
        imports = find_imports(data, language, root)
    except (TimeoutError, ValueError) as error:
        return Structure(note=str(error)[:200], purpose=describe_purpose(data, language))
    symbols, skeleton = _describe(data, definitions)
    return Structure(
        symbols=symbols,
        references=_count_names(data),
        imports=imports,
        purpose=describe_purpose(data, language),
        skeleton=skeleton,
    )


def _describe(data: bytes, definitions: list[Definition]) -> tuple[tuple[Symbol, ...], str]:
    """Return the symbols, and the skeleton: signatures with their first line of documentation."""
    symbols: list[Symbol] = []
    lines: list[str] = []
    size = 0
    enclosing: list[tuple[int, str, str]] = []  # where it ends, its name, its kind
    for one in definitions[:SYMBOLS_MAX]:
        if not one.name:
            continue
        while enclosing and enclosing[-1][0] <= one.start:
            enclosing.pop()
        is_within = bool(enclosing) and enclosing[-1][2] in ("class", "type", "module")
        kind = _name_kind(one.node.type, is_within=is_within)
        parent = ".".join(name for _, name, _ in enclosing)[:LINE_CHARS]
        signature = _read_signature(data, one.node)
        first = data.count(b"\n", 0, one.start) + 1
        last = data.count(b"\n", 0, max(one.start, one.end - 1)) + 1
        symbols.append(Symbol(one.name, kind, parent, first, last, signature))
        note = find_note(data, one)
        line = "  " * len(enclosing) + signature + (f"  # {note}" if note else "")
        if len(lines) < SKELETON_LINES and size + len(line) < SKELETON_CHARS:
            lines.append(line)
            size += len(line) + 1
        enclosing.append((one.end, one.name, kind))
    return tuple(symbols), "\n".join(lines)


def _name_kind(node_type: str, *, is_within: bool) -> str:
    found = next((kind for part, kind in _KINDS if part in node_type), "definition")
    return "method" if found == "function" and is_within else found


def _read_signature(data: bytes, node: Node) -> str:
    """Return the head of a definition, up to its body, in one line."""
    body = next((found for name in _BODIES if (found := node.child_by_field_name(name))), None)
    end = body.start_byte if body is not None and body.start_byte > node.start_byte else None
    head = data[node.start_byte : min(end or node.end_byte, node.start_byte + 4 * LINE_CHARS)]
    text = head.decode("utf-8", "replace")
    if end is None:
        text = text.partition("\n")[0]
    return " ".join(text.split()).rstrip(" {:=")[:LINE_CHARS]


def _count_names(data: bytes) -> tuple[tuple[str, int], ...]:
    """Return the names in a program, the most frequent first; comments' words are among them."""
    counts = Counter(_NAME.findall(data))
    common = sorted(counts.items(), key=lambda one: (-one[1], one[0]))[:REFERENCES_MAX]
    return tuple((name.decode("utf-8", "replace"), count) for name, count in common)
