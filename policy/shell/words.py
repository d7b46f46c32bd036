"""Words of the shell language: quotes, expansions and nested substitutions, byte for byte.

tree-sitter-bash loses substitutions inside here-documents, parameter operands
and continued words, and splits some words that bash keeps whole; so words are
read here, and only the statements around them are left to its grammar.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from policy.shell.ansi import unescape
from policy.shell.syntax import (
    Arithmetic,
    Assignment,
    Literal,
    Parameter,
    Part,
    Pattern,
    ShellSyntaxError,
    Substitution,
    Token,
    Word,
)

DEPTH_MAX = 24  # nested quotes and substitutions; people stay below 6
RETRIES_MAX = 64

_PLAIN = re.compile(r"[^\s;&|<>()'\"\\$`?*+@!]+")
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_PARAMETER = re.compile(r"[A-Za-z_]\w*|[0-9]+|[@*#?$!_-]", re.ASCII)
_OPERATOR = re.compile(r":[-=?+]|[-=?+]|##?|%%?|//?|\^\^?|,,?|@|:")
_DOUBLE_QUOTED_RUN = re.compile(r'[^"\\$`]+')
_OPERAND_RUN = re.compile(r"[^}'\"\\$`]+")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\[|\+?=)", re.ASCII)
_WORD_END = frozenset(" \t\n;&|<>()")
_EXTENDED = frozenset("?*+@!")


@dataclass(slots=True)
class Cursor:
    """A position in a text; shared by the readers of words and of token lists."""

    text: str
    read_list: Callable[[Cursor, str], tuple[Token, ...]]
    pos: int = 0
    depth: int = 0
    in_place: bool = True  # False for a text made from another one, whose offsets mean nothing
    retries: int = 0
    heredocs: list[Heredoc] = field(default_factory=list)

    def peek(self, length: int = 1) -> str:
        """The next characters, without moving."""
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


@dataclass(slots=True)
class Heredoc:
    """A here-document announced by `<<` whose body begins at the next newline."""

    delimiter: str
    is_quoted: bool
    strips_tabs: bool
    body: list[Part]  # filled when the newline is reached; the redirection already refers to it


def read_word(cursor: Cursor, *, assignable: bool = True) -> Word:
    """Read the word that begins at the cursor."""
    start, depth = cursor.pos, cursor.depth
    if assignable and _ASSIGNMENT.match(cursor.text, start):
        if assignment := _read_assignment(cursor):
            return Word((), start, cursor.pos, assignment)
        cursor.rewind(start, depth)
    parts = _read_unquoted(cursor, _WORD_END)
    return Word(parts, start, cursor.pos)


def _read_assignment(cursor: Cursor) -> Assignment | None:
    head = _ASSIGNMENT.match(cursor.text, cursor.pos)
    if head is None:
        return None
    cursor.pos = head.end()
    subscript: tuple[Part, ...] | None = None
    operator = head[2]
    if operator == "[":
        try:
            subscript = _read_enclosed(cursor, "]")
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
    return Assignment(head[1], subscript, append, _read_unquoted(cursor, _WORD_END), None)


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
        if following == "[":
            items.append(_read_array_item(cursor))
        else:
            items.append(read_word(cursor, assignable=False))


def _read_array_item(cursor: Cursor) -> Word:
    """`[key]=value`: the key's expansions are kept as parts of the value's word."""
    start = cursor.pos
    word = read_word(cursor, assignable=False)
    text = cursor.text[start : cursor.pos]
    if keyed := re.match(r"\[[^]'\"$`]*\]=", text):
        cursor.pos = start + keyed.end()
        parts = _read_unquoted(cursor, _WORD_END)
        return Word(parts, start, cursor.pos)
    return word


def skip_blanks(cursor: Cursor, *, newlines: bool = False) -> None:
    """Move past blanks, continued lines and comments (and newlines where they mean nothing)."""
    text = cursor.text
    while True:
        following = cursor.peek()
        if following and following in (" \t\n" if newlines else " \t"):
            cursor.pos += 1
        elif following == "\\" and cursor.peek(2) == "\\\n":
            cursor.pos += 2
        elif following == "#":
            end = text.find("\n", cursor.pos)
            cursor.pos = len(text) if end < 0 else end
        else:
            return


def _read_unquoted(cursor: Cursor, terminators: frozenset[str]) -> tuple[Part, ...]:
    """Parts up to a character that ends an unquoted word."""
    text, parts = cursor.text, list[Part]()
    while cursor.pos < len(text):
        if plain := _PLAIN.match(text, cursor.pos):
            parts.append(Literal(plain.group(), False))
            cursor.pos = plain.end()
            continue
        char = text[cursor.pos]
        if char in "<>" and text[cursor.pos + 1 : cursor.pos + 2] == "(":
            parts.append(_read_substitution(cursor, char + "(", quoted=False))
        elif char in _EXTENDED:
            parts.append(_read_extended(cursor))
        elif char in terminators:
            break
        elif char.isspace():  # \r, \f and other blanks are ordinary characters to bash
            parts.append(Literal(char, True))
            cursor.pos += 1
        else:
            parts.extend(_read_special(cursor, quoted=False))
    return tuple(parts)


def _read_extended(cursor: Cursor) -> Part:
    char = cursor.peek()
    cursor.pos += 1
    if cursor.peek() != "(":
        return Literal(char, False)
    cursor.pos += 1
    return Pattern(_read_enclosed(cursor, ")"))


def _read_special(cursor: Cursor, *, quoted: bool) -> list[Part]:
    """A quote, a backslash, a `$` or a backtick at the cursor."""
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
    cursor.pos += 1
    parts: list[Part] = [Literal("", True)]
    cursor.descend()
    while True:
        if run := _DOUBLE_QUOTED_RUN.match(cursor.text, cursor.pos):
            parts.append(Literal(run.group(), True))
            cursor.pos = run.end()
        char = cursor.peek()
        if char == "":
            raise ShellSyntaxError("double quote without its end")
        if char == '"':
            cursor.pos += 1
            cursor.depth -= 1
            return parts
        parts.extend(_read_special(cursor, quoted=True))


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
    text, pos, body = cursor.text, start + 1, []
    escapable = '$`\\"' if quoted else "$`\\"
    while pos < len(text) and text[pos] != "`":
        if text[pos] == "\\" and text[pos + 1 : pos + 2] and text[pos + 1] in escapable:
            pos += 1
        elif text[pos] == "\\":
            body.append("\\")
            pos += 1
        body.append(text[pos : pos + 1])
        pos += 1
    if pos >= len(text):
        raise ShellSyntaxError("backtick without its end")
    cursor.pos = pos + 1
    return Substitution("`", None, "".join(body), start, cursor.pos, quoted)


def _read_dollar(cursor: Cursor, *, quoted: bool) -> list[Part]:
    text = cursor.text
    after = cursor.pos + 1
    while text.startswith("\\\n", after):
        after += 2
    following = text[after : after + 1]
    if following == "(":
        cursor.pos = after - 1
        return [_read_arithmetic_or_substitution(cursor, quoted=quoted)]
    if following == "{":
        cursor.pos = after + 1
        return [_read_braced(cursor, quoted=quoted)]
    if following == "[":
        cursor.pos = after + 1
        return [Arithmetic(_read_enclosed(cursor, "]"), quoted)]
    if following == "'" and not quoted:
        return [_read_ansi(cursor, after)]
    if following == '"' and not quoted:
        cursor.pos = after
        return _read_double_quoted(cursor)
    name = _NAME.match(text, after) or re.compile(r"[0-9@*#?$!-]").match(text, after)
    if name is None:
        cursor.pos += 1
        return [Literal("$", True)]
    cursor.pos = name.end()
    return [Parameter(name.group(), None, "", "", (), quoted)]


def _read_ansi(cursor: Cursor, quote: int) -> Part:
    end = re.compile(r"'((?:[^'\\]|\\.)*)'", re.DOTALL).match(cursor.text, quote)
    if end is None:
        raise ShellSyntaxError("$' without its end")
    cursor.pos = end.end()
    return Literal(unescape(end[1]).partition("\0")[0], True)


def _read_arithmetic_or_substitution(cursor: Cursor, *, quoted: bool) -> Part:
    if cursor.peek(3) == "$((":
        cursor.pos += 3
        parts = read_arithmetic_command(cursor)
        if parts is not None:
            return Arithmetic(parts, quoted)
        cursor.pos -= 3
    return _read_substitution(cursor, "$(", quoted=quoted)


def _read_substitution(cursor: Cursor, kind: str, *, quoted: bool) -> Part:
    start = cursor.pos
    cursor.pos += 2
    cursor.descend()
    tokens = cursor.read_list(cursor, ")")
    cursor.depth -= 1
    body = cursor.text[start + 2 : cursor.pos - 1]
    return Substitution(kind, tokens if cursor.in_place else None, body, start, cursor.pos, quoted)


def _read_braced(cursor: Cursor, *, quoted: bool) -> Part:
    """`${...}` with the cursor behind the brace."""
    text = cursor.text
    prefix = ""
    if cursor.peek() in ("!", "#") and text[cursor.pos + 1 : cursor.pos + 2] not in ("}", ""):
        prefix = cursor.peek()
        cursor.pos += 1
    name = _PARAMETER.match(text, cursor.pos)
    if name is None:
        raise ShellSyntaxError("${ without a parameter name")
    cursor.pos = name.end()
    subscript = None
    if cursor.peek() == "[":
        cursor.pos += 1
        subscript = _read_enclosed(cursor, "]")
    operator = _OPERATOR.match(text, cursor.pos)
    if operator:
        cursor.pos = operator.end()
    operand = _read_operand(cursor, quoted=quoted)
    return Parameter(
        name.group(), subscript, prefix, operator.group() if operator else "", operand, quoted
    )


def _read_operand(cursor: Cursor, *, quoted: bool) -> tuple[Part, ...]:
    """The text after the operator of `${...}`, up to and over its closing brace."""
    cursor.descend()
    parts: list[Part] = []
    while True:
        if run := _OPERAND_RUN.match(cursor.text, cursor.pos):
            parts.append(Literal(run.group(), quoted))
            cursor.pos = run.end()
        char = cursor.peek()
        if char == "":
            raise ShellSyntaxError("${ without its closing brace")
        if char == "}":
            cursor.pos += 1
            cursor.depth -= 1
            return tuple(parts)
        if char == "'" and quoted:
            parts.append(Literal("'", True))
            cursor.pos += 1
        elif char == "\\" and cursor.peek(2) == "\\}":
            parts.append(Literal("}", True))
            cursor.pos += 2
        else:
            parts.extend(_read_special(cursor, quoted=quoted))


_OPENERS = {")": "(", "]": "["}


def _read_enclosed(cursor: Cursor, closer: str) -> tuple[Part, ...]:
    """Parts up to and over the matching `closer`; for subscripts, arithmetic and patterns."""
    opener = _OPENERS[closer]
    run = re.compile(rf"[^{re.escape(opener + closer)}'\"\\$`]+")
    cursor.descend()
    parts: list[Part] = []
    level = 0
    while True:
        if match := run.match(cursor.text, cursor.pos):
            parts.append(Literal(match.group(), False))
            cursor.pos = match.end()
        char = cursor.peek()
        if char == "":
            raise ShellSyntaxError(f"no closing {closer}")
        if char in (opener, closer):
            cursor.pos += 1
            if char == closer and level == 0:
                cursor.depth -= 1
                return tuple(parts)
            level += 1 if char == opener else -1
            parts.append(Literal(char, False))
        else:
            parts.extend(_read_special(cursor, quoted=False))


def read_arithmetic_command(cursor: Cursor) -> tuple[Part, ...] | None:
    """The expression of `(( ))` with the cursor behind `((`; None when it is two subshells."""
    start, depth = cursor.pos, cursor.depth
    try:
        parts = _read_enclosed(cursor, ")")
        if cursor.peek() == ")":
            cursor.pos += 1
            return parts
    except ShellSyntaxError:
        pass
    cursor.rewind(start, depth)
    return None


def read_heredoc_body(cursor: Cursor, heredoc: Heredoc) -> tuple[Part, ...]:
    """Read the body that begins at the cursor, up to its delimiter or the end of the text."""
    lines: list[str] = []
    text = cursor.text
    while cursor.pos < len(text):
        line = _read_line(cursor)
        while not heredoc.is_quoted and _is_continued(line) and cursor.pos < len(text):
            line = line[:-1] + _read_line(cursor)
        if heredoc.strips_tabs:
            line = line.lstrip("\t")
        if line == heredoc.delimiter:
            break
        lines.append(line + "\n")
    body = "".join(lines)
    if heredoc.is_quoted:
        return (Literal(body, True),)
    return read_template(body, cursor)


def _read_line(cursor: Cursor) -> str:
    end = cursor.text.find("\n", cursor.pos)
    end = len(cursor.text) if end < 0 else end
    line = cursor.text[cursor.pos : end]
    cursor.pos = min(end + 1, len(cursor.text))
    return line


def _is_continued(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def read_template(body: str, outer: Cursor) -> tuple[Part, ...]:
    """Parts of an unquoted here-document: expansions are live, quotes are plain text."""
    cursor = Cursor(body, outer.read_list, 0, outer.depth, False, outer.retries)
    parts: list[Part] = []
    run = re.compile(r"[^\\$`]+")
    while cursor.pos < len(body):
        if match := run.match(body, cursor.pos):
            parts.append(Literal(match.group(), True))
            cursor.pos = match.end()
        else:
            parts.extend(_read_special(cursor, quoted=True))
    return tuple(parts)
