"""Shell text to tokens: words, redirections, operators, reserved words, here-documents.

Every byte belongs to a token, a blank or a comment; anything else is an error.
"""

from __future__ import annotations

import functools
import re

from base.wordlist import word_set
from policy.shell.syntax import Literal, Parameter, Part, Redirection, ShellSyntaxError, Token, Word
from policy.shell.words import (
    Cursor,
    Heredoc,
    read_arithmetic_command,
    read_until,
    read_word,
    skip_blanks,
)


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
    """Return the parts of an unquoted here-document: expansions are live, quotes are plain text."""
    cursor = Cursor(body, outer.read_list, depth=outer.depth, in_place=False, retries=outer.retries)
    return read_until(cursor, "", quoted=True)


_REDIRECTION = re.compile(
    r"(\d+(?=[<>])|\{[A-Za-z_]\w*\}(?=[<>]))?(<<<|<<-|<<|<>|<&|>>|>&|>\||&>>|&>|<(?!\()|>(?!\())"
)
_OPERATOR = re.compile(r";;&|;;|;&|&&|\|\||\|&|[;&|()]")
_RESERVED = word_set(
    "if then elif else fi for select while until do done case esac function { } ! time coproc [["
)
_COMMAND_MAY_FOLLOW = _RESERVED - {"select", "case", "function"}

# Most words: nothing in or after them could be anything but a word, fixed text in quotes, or one
# variable in quotes.
_PLAIN_WORD = re.compile(
    r"""([ \t]*)(?:(-[\w./:,%=+-]*|[\w./:,%][\w./:,%-]*|\[\[?|\{\}|[]{}!])|'([^']*)'"""
    r"""|"([^"\\$`]*)"|"\$([A-Za-z_]\w*)")(?=[ \t\n;|&()]|\Z)""",
    re.ASCII,
)
_VARIABLE = 5  # its group
_BEGINS_WORD = frozenset("'\"$\\`")  # neither a redirection nor an operator
_LOOP_WORDS = ("in", "do")
_BEGINS_BLANK = " \t\\#"
_QUOTING = re.compile(r"['\"\\]")


def tokenize(text: str) -> tuple[Token, ...]:
    """Return all tokens of a program; raises ShellSyntaxError if bash would not accept it."""
    if "\0" in text:
        raise ShellSyntaxError("NUL character")
    return read_list(Cursor(text, read_list), "")


def read_list(cursor: Cursor, closer: str) -> tuple[Token, ...]:
    """Return tokens to the end of the text, or through an unmatched `)` if that is the closer."""
    return _ListReader(cursor, closer).read()


class _ListReader:
    """State that decides how the next characters are read: where a command may begin."""

    def __init__(self, cursor: Cursor, closer: str) -> None:
        self.cursor = cursor
        self.closer = closer
        self.tokens: list[Token] = []
        self.at_command = True
        self.parentheses = 0
        self.cases: list[str] = []  # per open `case`: word, pattern or body

    def read(self) -> tuple[Token, ...]:
        cursor, text = self.cursor, self.cursor.text
        size = len(text)
        while True:
            self._read_plain_words()
            if cursor.pos < size and text[cursor.pos] in _BEGINS_BLANK:
                skip_blanks(cursor)
            if cursor.pos >= size:
                if self.closer:
                    raise ShellSyntaxError("no closing parenthesis")
                return tuple(self.tokens)
            following = text[cursor.pos]
            if following == "\n":
                self._read_newline()
                continue
            if following == ")" and self._at_closer():
                cursor.pos += 1
                return tuple(self.tokens)
            self._read_token(following)

    def _read_plain_words(self) -> None:
        """Read plain words in a row: most of what programs consist of."""
        cursor, tokens = self.cursor, self.tokens
        text = cursor.text
        while plain := _PLAIN_WORD.match(text, cursor.pos):
            start, cursor.pos = plain.end(1), plain.end()
            raw = text[start : cursor.pos]
            if plain.lastindex == _VARIABLE:
                parts: tuple[Part, ...] = (Parameter(plain[_VARIABLE], None, "", "", (), True),)
            else:
                parts = _plain_parts(plain[plain.lastindex or 0])
            word = Word(parts, start, cursor.pos)
            if self.at_command or self.cases or raw in _LOOP_WORDS or _names_function(tokens):
                self._add_word(raw, word)
            else:
                tokens.append(Token("word", raw, start, cursor.pos, word))

    def _at_closer(self) -> bool:
        return self.closer == ")" and self.parentheses == 0 and not self._in_pattern()

    def _in_pattern(self) -> bool:
        return bool(self.cases) and self.cases[-1] == "pattern"

    def _read_token(self, following: str) -> None:
        cursor = self.cursor
        start = cursor.pos
        if following in ";|)" and (operator := _OPERATOR.match(cursor.text, start)):
            self._read_operator(operator)
        elif following in _BEGINS_WORD:
            self._read_word()
        elif redirection := _REDIRECTION.match(cursor.text, start):
            self._read_redirection(redirection)
        elif self.at_command and self._read_arithmetic():
            pass
        elif operator := _OPERATOR.match(cursor.text, start):
            self._read_operator(operator)
        else:
            self._read_word()

    def _add(self, kind: str, text: str, start: int) -> None:
        self.tokens.append(Token(kind, text, start, self.cursor.pos))

    def _read_newline(self) -> None:
        cursor = self.cursor
        start = cursor.pos
        cursor.pos += 1
        self.tokens.append(Token("newline", "\n", start, cursor.pos))
        if not self._in_pattern():
            self.at_command = True
        if cursor.heredocs:
            pending, cursor.heredocs = cursor.heredocs, []
            for heredoc in pending:
                heredoc.body.extend(read_heredoc_body(cursor, heredoc))

    def _read_redirection(self, match: re.Match[str]) -> None:
        cursor = self.cursor
        cursor.pos = match.end()
        skip_blanks(cursor)
        if cursor.peek() in ("", "\n"):
            raise ShellSyntaxError(f"nothing after {match[2]}")
        target = read_word(cursor, assignable=False)
        if target.start == target.end:
            raise ShellSyntaxError(f"no word after {match[2]}")
        if match[2] in ("<<", "<<-"):
            target = self._announce_heredoc(target, match[2])
        start, end = match.start(), cursor.pos
        redirection = Redirection(match[1] or "", match[2], target, start, end)
        self.tokens.append(Token("redirect", "", start, end, redirection=redirection))

    def _announce_heredoc(self, delimiter: Word, operator: str) -> Word:
        raw = self.cursor.text[delimiter.start : delimiter.end]
        body: list[Part] = []
        self.cursor.heredocs.append(
            Heredoc(_unquote(delimiter, raw), bool(_QUOTING.search(raw)), operator == "<<-", body)
        )
        return Word(body, delimiter.start, delimiter.end)

    def _read_arithmetic(self) -> bool:
        cursor = self.cursor
        start = cursor.pos
        if cursor.peek(2) != "((":
            return False
        cursor.pos += 2
        parts = read_arithmetic_command(cursor)
        if parts is None:
            cursor.pos = start
            return False
        word = Word(parts, start, cursor.pos)
        self.tokens.append(Token("arith", "", start, cursor.pos, words=(word,)))
        self.at_command = True
        return True

    def _read_operator(self, match: re.Match[str]) -> None:
        self.cursor.pos = match.end()
        text = match.group()
        is_pattern = text in ("(", ")") and self._in_pattern()
        kind = ("pattern_start" if text == "(" else "pattern_end") if is_pattern else "op"
        self._add(kind, text, match.start())
        if text == ")":
            self._close_parenthesis()
            return
        if text == "(" and not self._in_pattern():
            self.parentheses += 1
        elif text in (";;", ";&", ";;&"):
            if not self.cases:
                raise ShellSyntaxError(f"{text} outside case")
            self.cases[-1] = "pattern"
        self.at_command = not self._in_pattern()

    def _close_parenthesis(self) -> None:
        if self._in_pattern():
            self.cases[-1] = "body"
        elif self.parentheses == 0:
            raise ShellSyntaxError("unmatched closing parenthesis")
        else:
            self.parentheses -= 1
        # A closing word, or the body of a function, may follow without a separator.
        self.at_command = True

    def _read_word(self) -> None:
        cursor = self.cursor
        start = cursor.pos
        if self.at_command and cursor.peek(2) == "!(":
            cursor.pos += 1  # a negated subshell; `!` is dropped, it changes no effect
            return
        word = read_word(cursor)
        if cursor.pos == start:
            raise ShellSyntaxError(f"unexpected {cursor.peek()!r}")
        self._add_word(cursor.text[start : cursor.pos].replace("\\\n", ""), word)

    def _add_word(self, raw: str, word: Word) -> None:
        """Add a word, or its meaning if it is reserved."""
        may_be_keyword = self.at_command or self.cases or raw in _LOOP_WORDS
        if may_be_keyword and self._read_keyword(raw, word.start):
            return
        self.at_command = _names_function(self.tokens) or (
            self.at_command and word.assignment is not None
        )
        self.tokens.append(Token("word", raw, word.start, word.end, word))

    def _read_keyword(self, raw: str, start: int) -> bool:
        """Return whether the word is reserved at its place."""
        if self.cases and self.cases[-1] != "body" and self._read_case_keyword(raw, start):
            return True
        if raw not in _RESERVED and raw not in _LOOP_WORDS:
            return False
        if raw in _LOOP_WORDS and self._after_loop_name():
            if raw == "do" and self.tokens[-1].kind == "word":
                self.tokens.append(Token("op", ";", start, start))  # bash needs none here
            self._add("reserved", raw, start)
            self.at_command = raw == "do"
            return True
        if not self.at_command or raw not in _RESERVED or self._in_pattern():
            return False
        if raw == "[[":
            self._read_test(start)
            return True
        if raw == "case":
            self.cases.append("word")
        elif raw == "esac":
            if not self.cases:
                raise ShellSyntaxError("esac outside case")
            self.cases.pop()
        if raw not in ("!", "time", "coproc"):  # they change how, not what runs
            self._add("reserved", raw, start)
        elif raw != "!":
            self._skip_prefix_words(raw)
        self.at_command = raw in _COMMAND_MAY_FOLLOW
        return True

    def _read_case_keyword(self, raw: str, start: int) -> bool:
        if self.cases[-1] == "word":
            if raw == "in" and self.tokens[-1].kind in ("word", "newline"):
                self._add("reserved", "in", start)
                self.cases[-1] = "pattern"
                self.at_command = False
                return True
            return False
        if raw == "esac" and self.tokens[-1].text in ("in", "\n", ";;", ";&", ";;&"):
            self._add("reserved", "esac", start)
            self.cases.pop()
            self.at_command = True
            return True
        return False

    def _after_loop_name(self) -> bool:
        """Return True after `for name` or `select name`, newlines between them allowed."""
        before = [token for token in self.tokens[-4:] if token.kind != "newline"]
        return (
            len(before) > 1
            and before[-1].kind == "word"
            and before[-2].kind == "reserved"
            and before[-2].text in ("for", "select")
        )

    def _skip_prefix_words(self, keyword: str) -> None:
        """Skip words that belong to the keyword: `time -p`, `coproc NAME {`."""
        cursor = self.cursor
        skip_blanks(cursor)
        pattern = r"(-p(?=\s)|--(?=\s)|[ \t])*" if keyword == "time" else r"\w+[ \t]+(?=[{(])"
        if match := re.compile(pattern).match(cursor.text, cursor.pos):
            cursor.pos = match.end()

    def _read_test(self, start: int) -> None:
        """Read `[[ ... ]]`: only its words matter; its operators do not nest commands."""
        cursor = self.cursor
        words: list[Word] = []
        while True:
            skip_blanks(cursor, newlines=True)
            following = cursor.peek()
            if following == "":
                raise ShellSyntaxError("[[ without ]]")
            if following in "()&|;" or (following in "<>" and cursor.peek(2)[1:] != "("):
                cursor.pos += 1
                continue
            word = read_word(cursor, assignable=False)
            if cursor.text[word.start : word.end] == "]]":
                self.tokens.append(Token("test", "", start, cursor.pos, words=tuple(words)))
                self.at_command = True
                return
            words.append(word)


@functools.lru_cache(maxsize=4096)
def _plain_parts(raw: str) -> tuple[Part, ...]:
    """Return the parts of a plain word: nothing in it is expanded, as if it were quoted."""
    return (Literal(raw, True),)


def _names_function(tokens: list[Token]) -> bool:
    """Return whether the next word is the name of a function."""
    return bool(tokens) and tokens[-1].text == "function"


def _unquote(word: Word, raw: str) -> str:
    """Return a here-document's delimiter without quotes; expansions in it are plain text."""
    if all(isinstance(part, Literal) for part in word.parts):
        return "".join(part.text for part in word.parts if isinstance(part, Literal))
    return _QUOTING.sub("", raw)
