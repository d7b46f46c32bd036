"""Blanks comments and strings out of C-like source text, so that what is left can be searched.

Enough to find a `package` clause or a `main` function; not a parser. Offsets and line breaks stay.
All of it is linear in the text: what is unclosed runs to the end, so that nothing is read twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

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
# How far before a brace its kind shows, in characters: a signature, not a program.
_LOOK_BACK = 400
_VISIBLE = re.compile(r"\S")


def blank(text: str, lexer: re.Pattern[str]) -> str:
    """The text with every comment and string replaced by as many spaces."""
    return lexer.sub(lambda found: _VISIBLE.sub(" ", found.group()), text)


def every_block(before: str) -> bool:
    """The default of `surface`: whatever stands before a brace, its block is below the surface."""
    return True


def surface(blanked: str, below: Callable[[str], bool] = every_block) -> str:
    """A blanked text with spaces for the insides of its blocks.

    `below` is asked, with the text just before an opening brace, whether its block is one of them.
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
    """The offset behind the last of the statements that open a blanked text, 0 if there is none."""
    end = 0
    while found := statement.match(blanked, end):
        end = found.end()
    return end
