"""Whole words, assignments and array literals among them."""

from __future__ import annotations

import re

from policy.shell.cursor import Cursor
from policy.shell.parts import WORD_END, read_unquoted, read_until
from policy.shell.syntax import Assignment, Part, ShellSyntaxError, Word

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
