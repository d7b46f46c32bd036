"""Bodies of here-documents, and other text that is expanded like them."""

from __future__ import annotations

from policy.shell.cursor import Cursor, Heredoc
from policy.shell.parts import read_until
from policy.shell.syntax import Literal, Part


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
    cursor = Cursor(body, outer.read_list, depth=outer.depth, in_place=False, retries=outer.retries)
    return read_until(cursor, "", quoted=True)
