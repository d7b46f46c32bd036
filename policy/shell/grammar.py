"""Parsing of tokens to statements, by tree-sitter-bash.

The grammar receives a *skeleton*: words in a row, redirections and expressions are replaced by
plain placeholders that name their tokens (`w12-15`, `r3`). So it decides only how statements nest,
and never sees a quote. Measured on 499 scripts of a Debian system: given the whole text it reports
errors in 28 that bash accepts; given skeletons, in none.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

from base.wordlist import word_set
from policy import grammars
from policy.shell.lex import tokenize
from policy.shell.syntax import (
    Branch,
    CompoundCommand,
    Function,
    Loop,
    Redirection,
    Sequence,
    ShellExpression,
    ShellPipeline,
    ShellSyntaxError,
    Simple,
    Statement,
    Token,
    Word,
)

if TYPE_CHECKING:
    from tree_sitter import Node

# A process that judges one command need not load the parser for it, and in longer programs most
# substitutions are such lines.

PIPES = frozenset(("|", "|&"))
_MAY_END = frozenset((";", "&", "\n"))
_JOINS = frozenset(("&&", "||"))
_BETWEEN = PIPES | _MAY_END | _JOINS


def simple(tokens: list[Token]) -> Simple:
    """Return the simple command that words and redirections form."""
    words = tuple([token.word for token in tokens if token.word])
    redirections = tuple([token.redirection for token in tokens if token.redirection])
    return Simple(words, redirections, tokens[0].start, tokens[-1].end)


def read_line(tokens: tuple[Token, ...]) -> Statement | None:
    """Return the statement of simple commands and pipelines in sequence; None for all else."""
    done: list[Statement] = []
    stages: list[Statement] = []
    current: list[Token] = []
    last = ""
    for token in tokens:
        if token.kind in ("word", "redirect"):
            current.append(token)
            continue
        if not current or token.text not in _BETWEEN:
            return None
        stages.append(simple(current))
        current, last = [], token.text
        if last not in PIPES:
            done.append(_pipeline(stages))
            stages = []
    if current:
        done.append(_pipeline([*stages, simple(current)]))
    elif last not in _MAY_END:
        return None
    return done[0] if len(done) == 1 else Sequence(tuple(done))


def _pipeline(stages: list[Statement]) -> Statement:
    return stages[0] if len(stages) == 1 else ShellPipeline(tuple(stages))


STAGES_MAX = 500  # in one pipeline; where one is broken off, the grammar takes quadratic time
NESTING_MAX = 60  # statements inside statements; scripts in use stay below 12
_ENDS_PIPELINE = frozenset((";", "&", "&&", "||", "\n"))
_OPENERS = word_set("{ ( if do case")
_CLOSERS = word_set("} ) fi done esac")
# Newlines are blanks after these and separators elsewhere. The grammar takes some that
# separate for blanks (after a pipeline over several lines), so it is given semicolons.
_NEEDS_MORE = word_set(
    "| |& && || ; & ;; ;& ;;& ( { then do else elif if while until in while function"
)
_SEPARATES = word_set(") ;; ;& ;;& ; & in")


@functools.lru_cache(maxsize=256)
def parse(text: str) -> Statement:
    """Parse the program as one statement; raises ShellSyntaxError."""
    return build(tokenize(text))


def build(tokens: tuple[Token, ...]) -> Statement:
    """Build the statement that the tokens form; raises ShellSyntaxError."""
    if not tokens:
        return Sequence(())
    _check_nesting(tokens)
    if (line := read_line(tokens)) is not None:
        return line
    tree = grammars.parse("bash", _skeleton(tokens).encode())
    if tree is None:
        raise ShellSyntaxError("it takes too long to parse")
    root = tree.root_node
    if root.has_error:
        raise ShellSyntaxError(f"syntax error near {_find_culprit(root, tokens)}")
    return _Builder(tokens).sequence(root.children)


def _check_nesting(tokens: tuple[Token, ...]) -> None:
    """Refuse unclosed statements before the grammar does, whose recovery from them is slow."""
    depth = stages = 0
    previous = ""
    for token in tokens:
        if token.kind == "word":
            previous = ""
            continue
        ends_pipeline = token.text in _ENDS_PIPELINE and previous not in PIPES
        stages = 0 if ends_pipeline else stages + (token.text in PIPES)
        if stages > STAGES_MAX:
            raise ShellSyntaxError(f"a pipeline of more than {STAGES_MAX} stages")
        previous = token.text
        if token.kind in ("op", "reserved"):
            depth += (token.text in _OPENERS) - (token.text in _CLOSERS)
            if depth < 0:
                raise ShellSyntaxError(f"unexpected {token.text!r}")
            if depth > NESTING_MAX:
                raise ShellSyntaxError(f"statements nested more than {NESTING_MAX} deep")
    if depth:
        raise ShellSyntaxError("a compound command without its end")


def _skeleton(tokens: tuple[Token, ...]) -> str:
    pieces: list[str] = []
    closed = False  # the last token ended a compound command
    line_ended = False  # a newline that may have to separate statements
    heads_arm = False  # after the pattern of a case arm
    first = -1  # of the words in a row
    for index, token in enumerate(tokens):
        kind, text = token.kind, token.text
        if kind == "newline":
            line_ended = True
            continue
        if kind == "word" and first >= 0 and not line_ended:
            pieces[-1] = f"w{first}-{index}"
            continue
        first = -1
        if line_ended:
            line_ended = False
            ends_line = pieces and pieces[-1] not in _NEEDS_MORE and pieces[-2:] != ["(", ")"]
            ends_line = ends_line and pieces[-2:-1] != ["function"]
            if ends_line and not heads_arm and text not in _SEPARATES:
                pieces.append(";")
                closed = False
        heads_arm = kind == "pattern_end"
        if kind == "redirect":
            pieces.append(f"{'>' if closed else ''}r{index}")
            continue
        if kind in ("test", "arith"):
            if pieces[-1:] == ["for"]:  # `for (( ))` repeats as `while aN ;` does
                pieces[-1] = "while"
            pieces.append(f"{kind[0]}{index}")
        elif kind == "word":
            first = index
            pieces.append(f"w{index}")
        else:
            if closed and kind == "reserved" and text not in ("{", "do"):
                pieces.append(";")
            if kind == "reserved" and text in ("do", "{") and _ends_loop_header(pieces):
                pieces.append(";")
                text = "do" if text == "{" else text
            pieces.append(text)
        closed = kind in ("test", "arith") or (kind in ("op", "reserved") and text in _CLOSERS)
    return " ".join(pieces)


def _ends_loop_header(pieces: list[str]) -> bool:
    return len(pieces) > 1 and pieces[-2] == "while" and pieces[-1].startswith("a")


def _find_culprit(root: Node, tokens: tuple[Token, ...]) -> str:
    node = root
    while child := next((child for child in node.children if child.has_error), None):
        node = child
    return repr(" ".join(token.text for token in tokens[:8])) if node is root else repr(node.type)


class _Builder:
    """Builder of statements over the tokens that the grammar's nodes stand for."""

    def __init__(self, tokens: tuple[Token, ...]) -> None:
        self.tokens = tokens
        self.depth = 0

    def sequence(self, nodes: list[Node]) -> Statement:
        """Return the statements of a node's children; punctuation and keywords fall away."""
        items = [self.statement(node) for node in nodes if node.is_named and node.type != "comment"]
        return items[0] if len(items) == 1 else Sequence(tuple(items))

    def statement(self, node: Node) -> Statement:
        """Return one statement, by its node type."""
        build = _BUILDERS.get(node.type)
        if build is None:
            raise ShellSyntaxError(f"unexpected {node.type}")
        self.depth += 1
        if self.depth > NESTING_MAX:
            raise ShellSyntaxError(f"statements nested more than {NESTING_MAX} deep")
        built = build(self, node)
        self.depth -= 1
        return built

    def token(self, node: Node) -> Token:
        """Return the one token that a placeholder stands for."""
        found = self.named(node)
        if len(found) != 1:
            raise ShellSyntaxError("one word was expected")
        return found[0]

    def named(self, node: Node) -> list[Token]:
        """Return the tokens that placeholders stand for; nothing else may be in their place."""
        found: list[Token] = []
        for placeholder in (node.text or b"").decode().split():
            first, _, last = placeholder[1:].partition("-")
            if not first.isdigit():
                raise ShellSyntaxError(f"unexpected {placeholder!r}")
            found += self.tokens[int(first) : int(last or first) + 1]
        return found

    def word(self, node: Node) -> Word:
        """Return the word that a placeholder stands for."""
        word = self.token(node).word
        if word is None:
            raise ShellSyntaxError("a word was expected")
        return word

    def command(self, node: Node) -> Statement:
        """Return a simple command, `[[ ]]` or `(( ))`."""
        tokens = self.named(node)
        if tokens[0].kind in ("test", "arith"):
            expression = ShellExpression(tokens[0].kind, tokens[0].words)
            redirections = tuple(t.redirection for t in tokens if t.redirection)
            if len(tokens) != len(redirections) + 1:
                raise ShellSyntaxError("words after an expression")
            return CompoundCommand(expression, redirections, False) if redirections else expression
        return simple(tokens)

    def list(self, node: Node) -> Statement:
        """Return `a && b || c`: unrolled, as the grammar nests it to the left without bound."""
        items: list[Statement] = []
        while node.type == "list":
            named = [child for child in node.children if child.is_named]
            items.append(self.statement(named[-1]))
            node = named[0]
        items.append(self.statement(node))
        return Sequence(tuple(reversed(items)))

    def pipeline(self, node: Node) -> Statement:
        """Return the stages of a pipeline."""
        return ShellPipeline(
            tuple(self.statement(child) for child in node.children if child.is_named)
        )

    def redirected(self, node: Node) -> Statement:
        """Return a compound command with redirections."""
        redirections = self._redirections(node)
        statement = self.statement(_field(node, "body"))
        if isinstance(statement, Function):
            return Function(statement.name, CompoundCommand(statement.body, redirections, False))
        return CompoundCommand(statement, redirections, False)

    def _redirections(self, node: Node) -> tuple[Redirection, ...]:
        found = []
        for child in node.children_by_field_name("redirect"):
            redirection = self.token(child.children[-1]).redirection
            if redirection is None:
                raise ShellSyntaxError("a redirection was expected")
            found.append(redirection)
        return tuple(found)

    def group(self, node: Node) -> Statement:
        """Return `{ }` and `do done`."""
        return self.sequence(node.children)

    def subshell(self, node: Node) -> Statement:
        """Return `( )`."""
        return CompoundCommand(self.sequence(node.children), (), True)

    def if_(self, node: Node) -> Statement:
        """Return `if`: every condition may run; at most one of the bodies does."""
        condition, body, rest = _split_if(node.children)
        heads, arms = [self.sequence(condition)], [self.sequence(body)]
        for clause in rest:
            condition, body, _ = _split_if(clause.children)
            if clause.type == "elif_clause":
                heads.append(self.sequence(condition))
            arms.append(self.sequence(body))
        return Branch(tuple(heads), (), tuple(arms))

    def case(self, node: Node) -> Statement:
        """Return `case`: the word and the patterns are expanded, then at most one body runs."""
        value = node.child_by_field_name("value")
        words = [self.word(value)] if value else []
        arms = []
        for item in node.children:
            if item.type != "case_item":
                continue
            words += [self.word(pattern) for pattern in item.children_by_field_name("value")]
            patterns = set(item.children_by_field_name("value"))
            arms.append(self.sequence([c for c in item.children if c not in patterns]))
        return Branch((), tuple(words), tuple(arms))

    def while_(self, node: Node) -> Statement:
        """Return `while` and `until`: condition and body repeat together."""
        return Loop("", None, self.sequence(node.children[1:]))

    def for_(self, node: Node) -> Statement:
        """Return `for` and `select` over words, or over the positional parameters."""
        has_list = any(child.type == "in" for child in node.children)
        values = node.children_by_field_name("value")
        items = tuple(token.word for value in values for token in self.named(value) if token.word)
        variable = self.token(_field(node, "variable")).text
        body = self.statement(_field(node, "body"))
        return Loop(variable, items if has_list else None, body)

    def function(self, node: Node) -> Statement:
        """Return `name() body`; the body's own redirections apply at each call."""
        redirections = self._redirections(node)
        statement = self.statement(_field(node, "body"))
        if redirections:
            statement = CompoundCommand(statement, redirections, False)
        return Function(self.word(_field(node, "name")), statement)


def _field(node: Node, name: str) -> Node:
    field = node.child_by_field_name(name)
    if field is None:
        raise ShellSyntaxError(f"{node.type} without its {name}")
    return field


def _split_if(nodes: list[Node]) -> tuple[list[Node], list[Node], list[Node]]:
    """Split into condition, body, and the elif and else clauses."""
    condition: list[Node] = []
    body: list[Node] = []
    clauses: list[Node] = []
    current = condition
    for node in nodes:
        if node.type in ("then", "else"):
            current = body
        elif node.type in ("elif_clause", "else_clause"):
            clauses.append(node)
        else:
            current.append(node)
    return condition, body, clauses


_BUILDERS: dict[str, Callable[[_Builder, Node], Statement]] = {
    "command": _Builder.command,
    "list": _Builder.list,
    "pipeline": _Builder.pipeline,
    "redirected_statement": _Builder.redirected,
    "compound_statement": _Builder.group,
    "do_group": _Builder.group,
    "subshell": _Builder.subshell,
    "if_statement": _Builder.if_,
    "case_statement": _Builder.case,
    "while_statement": _Builder.while_,
    "for_statement": _Builder.for_,
    "function_definition": _Builder.function,
}
