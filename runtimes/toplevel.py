"""Rewriting of JavaScript programs so that top-level names persist in the global object.

An engine that evaluates one program after the other gives each a separate scope, and has no static
`import` and no top-level `await`. The rewritten program is the body of an asynchronous function
whose top-level declarations are assignments to global properties. Lines stay where they are.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tree_sitter import Node
import re
from collections.abc import Callable
from typing import Final

# Enough to find a `package` clause or a `main` function; not a parser. Offsets and line breaks
# stay. All of it is linear in the text: unclosed text runs to the end, so that nothing is read
# twice.

_COMMENT = r"//[^\n]*|/\*.*?(?:\*/|\Z)"
_STRING = r'"(?:\\.|[^"\\\n])*"?'
_CHARACTER = r"'(?:\\.|[^'\\\n])*'?"


def _lexer(*parts: str) -> re.Pattern[str]:
    return re.compile("|".join(parts), re.DOTALL)


C: Final = _lexer(_COMMENT, r'R"(?P<d>[^(\s]{0,16})\(.*?(?:\)(?P=d)"|\Z)', _STRING, _CHARACTER)
CSHARP: Final = _lexer(
    _COMMENT, r'""".*?(?:"""|\Z)', r'(?:@\$?|\$@)"(?:[^"]|"")*"?', r"\$?" + _STRING, _CHARACTER
)
GO: Final = _lexer(_COMMENT, r"`[^`]*`?", _STRING, _CHARACTER)
JAVA: Final = _lexer(_COMMENT, r'""".*?(?:"""|\Z)', _STRING, _CHARACTER)
JAVASCRIPT: Final = _lexer(_COMMENT, r"`(?:\\.|[^`\\])*`?", _STRING, _CHARACTER)
# A quote that closes at once is a character; any other begins a lifetime.
RUST: Final = _lexer(
    _COMMENT,
    r'\bb?c?r(?P<h>\#*)".*?(?:"(?P=h)|\Z)',
    r'"(?:\\.|[^"\\])*"?',
    r"'(?:\\[^\n']+|[^'\\\n])'",
)

_BRACE = re.compile(r"[{}]")
# The distance before a brace in which its kind shows, in characters: a signature, not a program.
_LOOK_BACK = 400
_VISIBLE = re.compile(r"\S")


def blank(text: str, lexer: re.Pattern[str]) -> str:
    """Return the text with every comment and string replaced by as many spaces."""
    return lexer.sub(lambda found: _VISIBLE.sub(" ", found.group()), text)


def every_block(before: str) -> bool:
    """Return True, the default of `surface`: every block is below the surface."""
    return True


def surface(blanked: str, below: Callable[[str], bool] = every_block) -> str:
    """Return a blanked text with spaces for the insides of its blocks.

    `below` is called with the text just before an opening brace, to choose the blocks.
    """
    parts: list[str] = []
    at = depth = hidden_from = 0
    for brace in _BRACE.finditer(blanked):
        here = brace.start()
        if brace.group() == "{":
            depth += 1
            if not hidden_from and below(blanked[max(0, here - _LOOK_BACK) : here]):
                parts.append(blanked[at : here + 1])
                at, hidden_from = here + 1, depth
        elif depth:
            if depth == hidden_from:
                parts.append(_VISIBLE.sub(" ", blanked[at:here]))
                at, hidden_from = here, 0
            depth -= 1
    rest = blanked[at:]
    parts.append(_VISIBLE.sub(" ", rest) if hidden_from else rest)
    return "".join(parts)


def after_leading(blanked: str, statement: re.Pattern[str]) -> int:
    """Return the offset after the last statement that opens a blanked text, or 0."""
    end = 0
    while found := statement.match(blanked, end):
        end = found.end()
    return end


# A name may be read-only so far (`crypto`, `performance`), as programs redeclare such ones.
_DECLARE = (
    "for (const name of %s) { "
    "const now = Object.getOwnPropertyDescriptor(globalThis, name); "
    "if (!now || !now.writable) Object.defineProperty(globalThis, name, { value: now && "
    "globalThis[name], writable: true, enumerable: true, configurable: true }); } "
)
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


def parse_root(source: bytes, grammar: Literal["javascript", "perl"] = "javascript") -> Node:
    """Return the root of a program's syntax tree."""
    from tree_sitter import Parser  # noqa: PLC0415 - only such sessions need a parser
    from tree_sitter_language_pack import get_language  # noqa: PLC0415

    return Parser(get_language(grammar)).parse(source).root_node


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
    declare = _DECLARE % json.dumps(list(names)) if names else ""
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


def share_names(code: str) -> str:
    """Rewrite `my` of a top-level statement to `our`, so that later programs find the name."""
    source = code.encode()
    out, at = [], 0
    for statement in parse_root(source, "perl").children:
        declaration = statement.named_children[0] if statement.named_children else None
        if declaration is not None and declaration.type == "assignment_expression":
            declaration = declaration.child_by_field_name("left")
        if declaration is None or declaration.type != "variable_declaration":
            continue
        keyword = declaration.children[0]
        if keyword.type == "my":
            out += [source[at : keyword.start_byte], b"our"]
            at = keyword.end_byte
    return b"".join([*out, source[at:]]).decode()
