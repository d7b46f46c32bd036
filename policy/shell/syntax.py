"""The shell's syntax as data: parts of words, tokens, statements, backslash escapes."""

import re
from collections.abc import Sequence as SequenceOf
from typing import NamedTuple

_SIMPLE = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r",
    "t": "\t", "v": "\v", "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip
_REST = (
    r"|x(?P<hex>[0-9a-fA-F]{1,2})|u(?P<u4>[0-9a-fA-F]{1,4})"
    r"|U(?P<u8>[0-9a-fA-F]{1,8})|c(?P<control>.)|(?P<simple>.))"
)
_QUOTED = r"(?s)\\(?:(?P<octal>[0-7]{1,3})" + _REST
_PRINTED = r"(?s)\\(?:0?(?P<octal>[0-7]{1,3})" + _REST


def unescape(text: str, *, printed: bool = False) -> str:
    r"""Decode backslash escapes as bash does. `printed` is the dialect of `echo -e` and `printf
    %b`, where an octal escape may be written `\0nnn`. An unknown escape keeps its backslash."""
    return re.sub(_PRINTED if printed else _QUOTED, _decode, text)


def _decode(match: re.Match[str]) -> str:
    if octal := match["octal"]:
        return chr(int(octal, 8) & 0xFF)
    if digits := match["hex"] or match["u4"] or match["u8"]:
        code = int(digits, 16)
        return chr(code) if code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF else "\ufffd"
    if control := match["control"]:
        return chr(ord(control) & 0x1F)
    return _SIMPLE.get(match["simple"], match.group())


class ShellSyntaxError(ValueError):
    """Text that bash would not accept, or that is beyond the syntax read here."""


class Literal(NamedTuple):
    """Fixed text. Unquoted text is still open to tilde, brace and pattern expansion."""

    text: str
    quoted: bool


class Parameter(NamedTuple):
    """`$name`, `${name[sub]op operand}`."""

    name: str
    subscript: "tuple[Part, ...] | None"
    prefix: str  # `!` (indirect), `#` (length) or empty
    operator: str
    operand: "tuple[Part, ...]"
    quoted: bool


class Substitution(NamedTuple):
    """`$( )`, backticks, `<( )` or `>( )`."""

    kind: str
    tokens: "tuple[Token, ...] | None"  # the body where it was lexed in place
    text: str  # the body of backticks, which is unescaped first
    start: int
    end: int
    quoted: bool


class Arithmetic(NamedTuple):
    """`$(( ))` or `$[ ]`: the expression, with the expansions inside it."""

    parts: "tuple[Part, ...]"
    quoted: bool


class ExtendedPattern(NamedTuple):
    """An extended pattern such as `@(a|b)`; kept for the expansions inside it."""

    parts: "tuple[Part, ...]"


Part = Literal | Parameter | Substitution | Arithmetic | ExtendedPattern


class Assignment(NamedTuple):
    """`name=value`, `name[sub]+=value` or `name=(words)`."""

    name: str
    subscript: tuple[Part, ...] | None
    append: bool
    value: tuple[Part, ...]
    items: "tuple[Word, ...] | None"


class Word(NamedTuple):
    """A word of the shell."""

    parts: SequenceOf[Part]
    start: int  # in characters of the text it was lexed from
    end: int  # in such characters, too
    assignment: Assignment | None = None


class Redirection(NamedTuple):
    """`fd op target`."""

    fd: str  # empty when not written
    operator: str
    target: Word  # of a here-document its body
    start: int
    end: int


class Token(NamedTuple):
    """A piece of text from the lexer."""

    kind: str  # word, redirect, test, arith, op, pattern_start, pattern_end, reserved, newline
    text: str
    start: int
    end: int
    word: Word | None = None
    redirection: Redirection | None = None
    words: tuple[Word, ...] = ()


class Simple(NamedTuple):
    """A simple command: its words in order, assignments included, and its redirections."""

    words: tuple[Word, ...]
    redirections: tuple[Redirection, ...]
    start: int
    end: int


class ShellExpression(NamedTuple):
    """`[[ ]]`, `(( ))`: no program runs, but the words are expanded. `kind` is test or arith."""

    kind: str
    words: tuple[Word, ...]


class ShellPipeline(NamedTuple):
    """Stages joined by pipes."""

    stages: "tuple[Statement, ...]"


class Sequence(NamedTuple):
    """Statements one after another; whether each one runs is not decided."""

    items: "tuple[Statement, ...]"


class CompoundCommand(NamedTuple):
    """A compound command with redirections, or a subshell, whose state does not flow back."""

    body: "Statement"
    redirections: tuple[Redirection, ...]
    is_subshell: bool


class Branch(NamedTuple):
    """`if` and `case`: first what always runs, then at most one alternative."""

    head: "tuple[Statement, ...]"
    words: tuple[Word, ...]
    arms: "tuple[Statement, ...]"


class Loop(NamedTuple):
    """`for`, `select`, `while`, `until`; `items` is None for a loop without a word list."""

    variable: str
    items: tuple[Word, ...] | None
    body: "Statement"


class Function(NamedTuple):
    """A function definition."""

    name: Word
    body: "Statement"


Statement = (
    Simple | ShellExpression | ShellPipeline | Sequence | CompoundCommand | Branch | Loop | Function
)
