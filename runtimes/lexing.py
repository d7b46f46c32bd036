"""Blanks comments and strings out of C-like source text, so that what is left can be searched.

Enough to find a `package` clause or a `main` function; not a parser. Offsets and line breaks stay.
"""

from __future__ import annotations

import re
from typing import Final

_COMMENT = r"//[^\n]*|/\*.*?(?:\*/|\Z)"
_STRING = r'"(?:\\.|[^"\\\n])*"?'
_CHARACTER = r"'(?:\\.|[^'\\\n])*'?"


def _lexer(*parts: str) -> re.Pattern[str]:
    return re.compile("|".join(parts), re.DOTALL)


C: Final = _lexer(_COMMENT, r'R"(?P<d>[^(\s]*)\(.*?\)(?P=d)"', _STRING, _CHARACTER)
CSHARP: Final = _lexer(
    _COMMENT, r'""".*?"""', r'(?:@\$?|\$@)"(?:[^"]|"")*"?', r"\$?" + _STRING, _CHARACTER
)
GO: Final = _lexer(_COMMENT, r"`[^`]*`?", _STRING, _CHARACTER)
JAVA: Final = _lexer(_COMMENT, r'""".*?"""', _STRING, _CHARACTER)
# A quote that closes at once is a character; any other begins a lifetime.
RUST: Final = _lexer(
    _COMMENT,
    r'\bb?c?r(?P<h>\#*)".*?"(?P=h)',
    r'"(?:\\.|[^"\\])*"?',
    r"'(?:\\[^\n']+|[^'\\\n])'",
)

_INNERMOST_BRACES = re.compile(r"\{[^{}]*\}")
_VISIBLE = re.compile(r"\S")


def blank(text: str, lexer: re.Pattern[str]) -> str:
    """The text with every comment and string replaced by as many spaces."""
    return lexer.sub(lambda found: _VISIBLE.sub(" ", found.group()), text)


def depth_at(blanked: str, offset: int) -> int:
    """How many braces are open at an offset of a blanked text."""
    return blanked.count("{", 0, offset) - blanked.count("}", 0, offset)


def outside_braces(blanked: str) -> str:
    """What stands in no braces of a blanked text."""
    left, count = blanked, 1
    while count:
        left, count = _INNERMOST_BRACES.subn(" ", left)
    return left


def after_leading(blanked: str, statement: re.Pattern[str]) -> int:
    """The offset behind the last of the statements that open a blanked text, 0 if there is none."""
    end = 0
    while found := statement.match(blanked, end):
        end = found.end()
    return end
