"""Rewriting of JavaScript programs so that top-level names persist in the global object.

An engine that evaluates one program after the other gives each a separate scope, and has no static
`import` and no top-level `await`. The rewritten program is the body of an asynchronous function
whose top-level declarations are assignments to global properties. Lines stay where they are.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runtimes.languages import read_file
from runtimes.toplevel import parse_root

if TYPE_CHECKING:
    from tree_sitter import Node

# A name may be read-only so far (`crypto`, `performance`), as programs redeclare such ones.
_DECLARE = " ".join(read_file("javascript/declare.js").split()) + " "  # before the first line
_DECLARATIONS = frozenset({"lexical_declaration", "variable_declaration"})
_FUNCTIONS = frozenset({"function_declaration", "generator_function_declaration"})


@dataclass(slots=True)
class _Rewriting:
    """Replacements by position in the source's bytes, and the names to make global."""

    source: bytes
    edits: list[tuple[int, int, str]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)

    def text(self, node: Node) -> str:
        return self.source[node.start_byte : node.end_byte].decode()

    def replace(self, start: int, end: int, text: str) -> None:
        self.edits.append((start, end, text))

    def result(self) -> str:
        out, at = [], 0
        for start, end, text in sorted(self.edits):
            out += [self.source[at:start].decode(), text]
            at = end
        return "".join(out) + self.source[at:].decode()


def globalize(code: str) -> str:
    """Return the program as an expression statement whose value is the promise of its end."""
    return _globalize(code, show=False)


def globalize_and_show(code: str) -> str:
    """Return the same, with a promise of `{value}` if the program ends with an expression.

    An ambiguous `{` begins an object, as in the engines' own consoles.
    """
    bare = code.strip()
    if bare.startswith("{") and not parse_root(f"({bare})".encode()).has_error:
        code = f"({bare})"
    return _globalize(code, show=True)


def _globalize(code: str, *, show: bool) -> str:
    source = code.encode()
    rewriting = _Rewriting(source)
    root = parse_root(source)
    for statement in root.children:
        _rewrite(statement, rewriting)
    if show:
        _show_last(root, rewriting)
    hoisted = "".join(f"globalThis.{name} = {name}; " for name in rewriting.functions)
    start = _after_directives(root)
    rewriting.replace(start, start, hoisted)
    names = dict.fromkeys((*rewriting.names, *rewriting.functions))
    declare = _DECLARE.replace("NAMES", json.dumps(list(names)), 1) if names else ""
    return f"{declare}(async () => {{ {rewriting.result()}\n}})()"


def _show_last(root: Node, rewriting: _Rewriting) -> None:
    statements = [node for node in root.named_children if node.type != "comment"]
    if statements and statements[-1].type == "expression_statement":
        expression = statements[-1].named_children[0]
        rewriting.replace(expression.start_byte, expression.start_byte, "return { value: (")
        rewriting.replace(expression.end_byte, expression.end_byte, ") }")


def _after_directives(root: Node) -> int:
    """Return where statements may be inserted without disabling a leading "use strict"."""
    position = 0
    for statement in root.children:
        if statement.type in ("comment", "hash_bang_line"):
            continue
        only = statement.named_children
        if statement.type != "expression_statement" or only[0].type != "string":
            break
        position = statement.end_byte
    return position


def _rewrite(statement: Node, rewriting: _Rewriting) -> None:
    if statement.type in _DECLARATIONS:
        _declaration(statement, rewriting)
    elif statement.type in _FUNCTIONS:
        _name_of(statement, rewriting.functions, rewriting)
    elif statement.type == "class_declaration":
        _class(statement, rewriting)
    elif statement.type == "import_statement":
        _import(statement, rewriting)
    elif statement.type == "export_statement":
        _export(statement, rewriting)
    elif statement.type == "hash_bang_line":
        rewriting.replace(statement.start_byte, statement.start_byte, "//")


def _name_of(statement: Node, names: list[str], rewriting: _Rewriting) -> str:
    name = statement.child_by_field_name("name")
    assert name is not None
    names.append(rewriting.text(name))
    return names[-1]


def _declaration(statement: Node, rewriting: _Rewriting) -> None:
    """Rewrite `const {a} = f(), b = 1` to `;({a} = f(), b = 1);`."""
    keyword, *rest = statement.children
    rewriting.replace(keyword.start_byte, keyword.end_byte, ";(")
    declarators = [node for node in rest if node.type == "variable_declarator"]
    for declarator in declarators:
        target = declarator.child_by_field_name("name")
        if target is None:
            continue
        rewriting.names += (rewriting.text(name) for name in _find_bound_names(target))
        if keyword.type != "var" and declarator.child_by_field_name("value") is None:
            rewriting.replace(declarator.end_byte, declarator.end_byte, " = undefined")
    end = max((node.end_byte for node in declarators), default=statement.end_byte)
    rewriting.replace(end, end, ")" if rest and rest[-1].type == ";" else ");")


def _find_bound_names(pattern: Node) -> Iterator[Node]:
    """Yield the names that a declaration's pattern binds."""
    if pattern.type in ("identifier", "shorthand_property_identifier_pattern"):
        yield pattern
    elif pattern.type in ("assignment_pattern", "object_assignment_pattern"):
        yield from _find_bound_names(pattern.named_children[0])  # the rest of it is the default
    elif pattern.type == "pair_pattern":
        yield from _find_bound_names(pattern.named_children[-1])
    else:
        for part in pattern.named_children:
            yield from _find_bound_names(part)


def _class(statement: Node, rewriting: _Rewriting) -> None:
    name = _name_of(statement, rewriting.names, rewriting)
    rewriting.replace(statement.start_byte, statement.start_byte, f";{name} = ")
    rewriting.replace(statement.end_byte, statement.end_byte, ";")


def _import(statement: Node, rewriting: _Rewriting) -> None:
    """Rewrite a static import to a dynamic one, destructured into the same names."""
    source = statement.child_by_field_name("source")
    if source is None:
        return
    options = ""
    for attribute in statement.named_children:
        if attribute.type == "import_attribute":
            options = f", {{ with: {rewriting.text(attribute.named_children[-1])} }}"
    call = f"await import({rewriting.text(source)}{options})"
    targets = [
        target
        for clause in statement.named_children
        if clause.type == "import_clause"
        for target in _import_targets(clause, rewriting)
    ]
    text = "; ".join(f"({target} = {call})" for target in targets) or f"({call})"
    lines = rewriting.text(statement).count("\n")
    rewriting.replace(statement.start_byte, statement.end_byte, f";{text};" + "\n" * lines)


def _import_targets(clause: Node, rewriting: _Rewriting) -> Iterator[str]:
    for part in clause.named_children:
        if part.type == "identifier":
            rewriting.names.append(rewriting.text(part))
            yield f"{{ default: {rewriting.names[-1]} }}"
        elif part.type == "namespace_import":
            rewriting.names.append(rewriting.text(part.named_children[0]))
            yield rewriting.names[-1]
        elif part.type == "named_imports":
            yield f"{{ {', '.join(_rewrite_imports(part, rewriting))} }}"


def _rewrite_imports(part: Node, rewriting: _Rewriting) -> Iterator[str]:
    """Yield `a: b` for `a as b`. The word `default` is not a node in this grammar."""
    for specifier in part.named_children:
        if specifier.type != "import_specifier":
            continue
        local = specifier.named_children[-1]
        rewriting.names.append(rewriting.text(local))
        imported = rewriting.text(specifier.children[0])
        yield f"{imported}: {rewriting.names[-1]}"


def _export(statement: Node, rewriting: _Rewriting) -> None:
    """Rewrite an export to its declaration; no module imports it."""
    kept = statement.child_by_field_name("declaration") or statement.child_by_field_name("value")
    if kept is None:
        lines = rewriting.text(statement).count("\n")
        rewriting.replace(statement.start_byte, statement.end_byte, ";" + "\n" * lines)
        return
    named = kept.child_by_field_name("name") is not None
    if kept.type in _DECLARATIONS or named:
        rewriting.replace(statement.start_byte, kept.start_byte, ";")
        _rewrite(kept, rewriting)
    else:
        rewriting.replace(statement.start_byte, kept.start_byte, ";(")
        rewriting.replace(kept.end_byte, kept.end_byte, ")")
