"""Top-level structure of programs: comments, strings and blocks, and their syntax trees."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from tree_sitter import Node

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


def parse_root(source: bytes, grammar: Literal["javascript", "perl"] = "javascript") -> Node:
    """Return the root of a program's syntax tree."""
    from tree_sitter import Parser  # noqa: PLC0415 - only such sessions need a parser
    from tree_sitter_language_pack import get_language  # noqa: PLC0415

    return Parser(get_language(grammar)).parse(source).root_node
