"""Words of shell text, byte for byte: quotes, expansions, substitutions, assignments.

tree-sitter-bash loses substitutions inside here-documents, parameter operands and continued words,
and splits some words that bash keeps whole. So words are read here, and only the statements around
them are left to its grammar.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from policy.shell.syntax import (
    Arithmetic,
    Assignment,
    ExtendedPattern,
    Literal,
    Parameter,
    Part,
    ShellSyntaxError,
    Substitution,
    Token,
    Word,
    unescape,
)

DEPTH_MAX = 24  # nested quotes and substitutions; people stay below 6
RETRIES_MAX = 12  # each may read the rest of the text; scripts in use need one or two

ReadList = Callable[["Cursor", str], tuple[Token, ...]]


class Cursor:
    """A position in a text; shared by the readers of words and of token lists. `in_place` is False
    for a text made from another one, whose offsets mean nothing."""

    __slots__ = ("depth", "heredocs", "in_place", "pos", "read_list", "retries", "text")

    def __init__(
        self,
        text: str,
        read_list: ReadList,
        *,
        depth: int = 0,
        in_place: bool = True,
        retries: int = 0,
    ) -> None:
        self.text = text
        self.read_list = read_list
        self.pos = 0
        self.depth = depth
        self.in_place = in_place
        self.retries = retries
        self.heredocs: list[Heredoc] = []

    def peek(self, length: int = 1) -> str:
        """Return the next characters, without moving."""
        return self.text[self.pos : self.pos + length]

    def descend(self) -> None:
        """Go one level deeper; too deep is an error, never a wrong answer."""
        self.depth += 1
        if self.depth > DEPTH_MAX:
            raise ShellSyntaxError(f"nested more than {DEPTH_MAX} levels deep")

    def rewind(self, pos: int, depth: int) -> None:
        """Go back to read the same text another way; bounded, as nested retries multiply."""
        self.pos, self.depth = pos, depth
        self.retries += 1
        if self.retries > RETRIES_MAX:
            raise ShellSyntaxError("too many ambiguous parentheses")


class Heredoc(NamedTuple):
    """A here-document announced by `<<` whose body begins at the next newline."""

    delimiter: str
    is_quoted: bool
    strips_tabs: bool
    body: list[Part]  # filled when the newline is reached; the redirection already refers to it


_PLAIN = re.compile(r"[^\s;&|<>()'\"\\$`?*+@!]+")
_NAME = re.compile(r"[A-Za-z_]\w*|[0-9@*#?$!-]", re.ASCII)
_ANSI = re.compile(r"'((?:[^'\\]|\\.)*)'", re.DOTALL)
_PARAMETER = re.compile(r"[A-Za-z_]\w*|[0-9]+|[@*#?$!_-]", re.ASCII)
_OPERATOR = re.compile(r":[-=?+]|[-=?+]|##?|%%?|//?|\^\^?|,,?|@|:")
# `${{ github.ref }}`: filled in before a shell sees it, where workflows run. A shell refuses it.
_TEMPLATE = re.compile(r"\{[^`$(){}\n]*(?:\([^`$()\n]*\)[^`$(){}\n]*)*\}\}")
_BACKTICKS = re.compile(r"`((?:[^`\\]|\\.)*)`", re.DOTALL)
# Most texts in double quotes: fixed text, or one variable.
_FIXED_QUOTED = re.compile(r'"([^"\\$`]*)"')
_QUOTED_PARAMETER = re.compile(r'"\$([A-Za-z_]\w*|[0-9@*#])"', re.ASCII)
# Text without special meaning before a closing character; "" is the end of the text.
_RUNS = {
    "": re.compile(r"[^\\$`]+"),
    '"': re.compile(r'[^"\\$`]+'),
    "}": re.compile(r"[^}'\"\\$`]+"),
    ")": re.compile(r"[^()'\"\\$`]+"),
    "]": re.compile(r"[^\[\]'\"\\$`]+"),
}
_OPENERS = {")": "(", "]": "["}
WORD_END = frozenset(" \t\n;&|<>()")
_EXTENDED = frozenset("?*+@!")


def read_unquoted(cursor: Cursor, terminators: frozenset[str]) -> tuple[Part, ...]:
    """Return parts up to a character that ends an unquoted word."""
    text, parts, size = cursor.text, list[Part](), len(cursor.text)
    while cursor.pos < size:
        if plain := _PLAIN.match(text, cursor.pos):
            parts.append(Literal(plain.group(), False))
            cursor.pos = plain.end()
            if cursor.pos == size:
                break
        char = text[cursor.pos]
        if char == '"':
            parts.extend(_read_double_quoted(cursor))
        elif char in "<>" and text[cursor.pos + 1 : cursor.pos + 2] == "(":
            cursor.pos += 2
            parts.append(_read_substitution(cursor, char + "(", quoted=False))
        elif char in _EXTENDED:
            parts.append(_read_extended(cursor))
        elif char in terminators:
            break
        elif char.isspace():  # \r, \f and other blanks are ordinary characters to bash
            parts.append(Literal(char, True))
            cursor.pos += 1
        else:
            parts.extend(read_special(cursor, quoted=False))
    return tuple(parts)


def _read_extended(cursor: Cursor) -> Part:
    char = cursor.peek()
    cursor.pos += 1
    if cursor.peek() != "(":
        return Literal(char, False)
    cursor.pos += 1
    return ExtendedPattern(read_until(cursor, ")"))


def read_special(cursor: Cursor, *, quoted: bool) -> list[Part]:
    """Read a quote, a backslash, a `$` or a backtick at the cursor."""
    char = cursor.peek()
    if char == "'":
        return [_read_single_quoted(cursor)]
    if char == '"':
        return _read_double_quoted(cursor)
    if char == "\\":
        return _read_backslash(cursor, quoted=quoted)
    if char == "`":
        return [_read_backticks(cursor, quoted=quoted)]
    return _read_dollar(cursor, quoted=quoted)


def _read_single_quoted(cursor: Cursor) -> Part:
    end = cursor.text.find("'", cursor.pos + 1)
    if end < 0:
        raise ShellSyntaxError("single quote without its end")
    literal = Literal(cursor.text[cursor.pos + 1 : end], True)
    cursor.pos = end + 1
    return literal


def _read_double_quoted(cursor: Cursor) -> list[Part]:
    if fixed := _FIXED_QUOTED.match(cursor.text, cursor.pos):
        cursor.pos = fixed.end()
        return [Literal(fixed[1], True)]
    if single := _QUOTED_PARAMETER.match(cursor.text, cursor.pos):
        cursor.pos = single.end()
        return [Parameter(single[1], None, "", "", (), True)]
    cursor.pos += 1
    return [Literal("", True), *read_until(cursor, '"', quoted=True)]


def _read_backslash(cursor: Cursor, *, quoted: bool) -> list[Part]:
    following = cursor.text[cursor.pos + 1 : cursor.pos + 2]
    cursor.pos += 2
    if following == "\n":
        return []
    if quoted and following not in '$`"\\':
        return [Literal("\\" + following, True)]
    return [Literal(following or "\\", True)]


def _read_backticks(cursor: Cursor, *, quoted: bool) -> Part:
    start = cursor.pos
    body = _BACKTICKS.match(cursor.text, start)
    if body is None:
        raise ShellSyntaxError("backtick without its end")
    cursor.pos = body.end()
    text = re.sub(r'\\([$`\\"])' if quoted else r"\\([$`\\])", r"\1", body[1])
    return Substitution("`", None, text, start, cursor.pos, quoted)


def _read_dollar(cursor: Cursor, *, quoted: bool) -> list[Part]:
    text = cursor.text
    after = cursor.pos + 1
    while text.startswith("\\\n", after):
        after += 2
    if name := _NAME.match(text, after):
        cursor.pos = name.end()
        return [Parameter(name.group(), None, "", "", (), quoted)]
    following = text[after : after + 1]
    if following == "'" and not quoted:
        return [_read_ansi(cursor, after)]
    if following == '"' and not quoted:
        cursor.pos = after
        return _read_double_quoted(cursor)
    if following not in ("(", "{", "["):
        cursor.pos += 1
        return [Literal("$", True)]
    cursor.pos = after + 1
    return [_read_bracketed(cursor, following, quoted=quoted)]


def _read_ansi(cursor: Cursor, quote: int) -> Part:
    end = _ANSI.match(cursor.text, quote)
    if end is None:
        raise ShellSyntaxError("$' without its end")
    cursor.pos = end.end()
    return Literal(unescape(end[1]).partition("\0")[0], True)


def _read_bracketed(cursor: Cursor, opener: str, *, quoted: bool) -> Part:
    """Read `${…}`, `$[…]`, `$((…))` or `$(…)` with the cursor after the opening character."""
    if opener == "{":
        return _read_braced(cursor, quoted=quoted)
    if opener == "[":
        return Arithmetic(read_until(cursor, "]"), quoted)
    if cursor.peek() == "(":
        cursor.pos += 1
        parts = read_arithmetic_command(cursor)
        if parts is not None:
            return Arithmetic(parts, quoted)
        cursor.pos -= 1
    return _read_substitution(cursor, "$(", quoted=quoted)


def _read_substitution(cursor: Cursor, kind: str, *, quoted: bool) -> Part:
    start = cursor.pos
    cursor.descend()
    tokens = cursor.read_list(cursor, ")")
    cursor.depth -= 1
    body = cursor.text[start : cursor.pos - 1]
    in_place = tokens if cursor.in_place else None
    return Substitution(kind, in_place, body, start - len(kind), cursor.pos, quoted)


def _read_braced(cursor: Cursor, *, quoted: bool) -> Part:
    """Read `${...}` with the cursor after the brace."""
    text = cursor.text
    prefix = ""
    if cursor.peek() in ("!", "#") and text[cursor.pos + 1 : cursor.pos + 2] not in ("}", ""):
        prefix = cursor.peek()
        cursor.pos += 1
    name = _PARAMETER.match(text, cursor.pos)
    if name is None and (template := _TEMPLATE.match(text, cursor.pos)):
        cursor.pos = template.end()
        return Parameter("?", None, "", "", (), quoted)  # one unknown word, like an exit status
    if name is None:
        raise ShellSyntaxError("${ without a parameter name")
    cursor.pos = name.end()
    subscript = None
    if cursor.peek() == "[":
        cursor.pos += 1
        subscript = read_until(cursor, "]")
    operator = _OPERATOR.match(text, cursor.pos)
    if operator:
        cursor.pos = operator.end()
    operand = read_until(cursor, "}", quoted=quoted)
    return Parameter(
        name.group(), subscript, prefix, operator.group() if operator else "", operand, quoted
    )


def read_until(cursor: Cursor, closer: str, *, quoted: bool = False) -> tuple[Part, ...]:
    """Return parts up to and over the closing character of an earlier opening one. For double
    quotes, the operands of `${…}`, subscripts, arithmetic, patterns and whole texts."""
    run, opener = _RUNS[closer], _OPENERS.get(closer)
    parts: list[Part] = []
    level = 0
    cursor.descend()
    while True:
        if match := run.match(cursor.text, cursor.pos):
            parts.append(Literal(match.group(), quoted))
            cursor.pos = match.end()
        char = cursor.peek()
        if char == closer and not level:
            cursor.pos += len(closer)
            cursor.depth -= 1
            return tuple(parts)
        if char == "":
            raise ShellSyntaxError(f"no closing {closer}")
        if char in (opener, closer) or (quoted and char == "'"):
            level += (char == opener) - (char == closer)
            parts.append(Literal(char, quoted))
            cursor.pos += 1
        elif closer == "}" and cursor.peek(2) == "\\}":
            parts.append(Literal("}", True))
            cursor.pos += 2
        else:
            parts.extend(read_special(cursor, quoted=quoted))


def read_arithmetic_command(cursor: Cursor) -> tuple[Part, ...] | None:
    """Read the expression of `(( ))` with the cursor after `((`; None if it is two subshells."""
    start, depth = cursor.pos, cursor.depth
    try:
        parts = read_until(cursor, ")")
        if cursor.peek() == ")":
            cursor.pos += 1
            return parts
    except ShellSyntaxError:
        pass
    cursor.rewind(start, depth)
    return None


_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\[|\+?=)", re.ASCII)
_KEY = re.compile(r"\[[^]'\"$`]*\]=")  # of an item in an array
_BLANKS = re.compile(r"(?:[ \t]+|\\\n|#[^\n]*)+")
_BLANK_LINES = re.compile(r"(?:[ \t\n]+|\\\n|#[^\n]*)+")


def read_word(cursor: Cursor, *, assignable: bool = True) -> Word:
    """Read the word that begins at the cursor."""
    start, depth = cursor.pos, cursor.depth
    if assignable and (head := _ASSIGNMENT.match(cursor.text, start)):
        if assignment := _read_assignment(cursor, head):
            return Word((), start, cursor.pos, assignment)
        cursor.rewind(start, depth)
    parts = read_unquoted(cursor, WORD_END)
    return Word(parts, start, cursor.pos)


def _read_assignment(cursor: Cursor, head: re.Match[str]) -> Assignment | None:
    cursor.pos = head.end()
    subscript: tuple[Part, ...] | None = None
    operator = head[2]
    if operator == "[":
        try:
            subscript = read_until(cursor, "]")
        except ShellSyntaxError:
            return None
        after = re.compile(r"\+?=").match(cursor.text, cursor.pos)
        if after is None:
            return None
        operator = after.group()
        cursor.pos = after.end()
    append = operator == "+="
    if cursor.peek() == "(" and subscript is None:
        return Assignment(head[1], None, append, (), _read_array(cursor))
    return Assignment(head[1], subscript, append, read_unquoted(cursor, WORD_END), None)


def _read_array(cursor: Cursor) -> tuple[Word, ...]:
    cursor.pos += 1
    items: list[Word] = []
    while True:
        skip_blanks(cursor, newlines=True)
        following = cursor.peek()
        if following == ")":
            cursor.pos += 1
            return tuple(items)
        if following == "" or following in ";&|":
            raise ShellSyntaxError("array without its closing parenthesis")
        start = cursor.pos
        if key := _KEY.match(cursor.text, start):
            cursor.pos = key.end()
        items.append(Word(read_unquoted(cursor, WORD_END), start, cursor.pos))
        if cursor.pos == start:
            raise ShellSyntaxError(f"unexpected {following!r} in an array")


def skip_blanks(cursor: Cursor, *, newlines: bool = False) -> None:
    """Move past blanks, continued lines and comments (and newlines where they mean nothing)."""
    blank = _BLANK_LINES if newlines else _BLANKS
    if match := blank.match(cursor.text, cursor.pos):
        cursor.pos = match.end()
