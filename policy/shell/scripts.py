"""Commands inside the little languages of sed, awk and make."""

from __future__ import annotations

import re
from collections.abc import Iterator

from policy import marks
from policy.shell.ansi import unescape

_SED_SUBSTITUTE = re.compile(r"s(?P<d>[^\w\s\\])(?:\\.|(?!(?P=d)).)*(?P=d)"
                             r"(?P<new>(?:\\.|(?!(?P=d)).)*)(?P=d)(?P<flags>[gpiImMe0-9]*)", re.DOTALL)  # fmt: skip
_SED_EXECUTE = re.compile(r"(?:^|[;{}\n]|\d|\$|/[IM]?|!)\s*e(?:\s+([^\n;}]+)|\s*(?=$|[;}\n]))")
_STRING = r'"(?:[^"\\]|\\.)*"'
_AWK_SYSTEM = re.compile(rf"\bsystem\s*\(((?:{_STRING}|[^()\"]|\([^()]*\))*)\)")
_AWK_PIPE_TO = re.compile(rf"\|&?\s*((?:{_STRING})(?:[^;{{}}\n]*))")
_AWK_PIPE_FROM = re.compile(rf"((?:{_STRING}|[\w$]+|\s)+)\|&?\s*getline")
_AWK_FILE = re.compile(rf"(?:getline\s+\w*\s*<|>>?)\s*({_STRING})")


def sed_commands(script: str) -> Iterator[str]:
    """What GNU sed's `e` command and the `e` flag of `s` would run."""
    rest = []
    last = 0
    for match in _SED_SUBSTITUTE.finditer(script):
        rest.append(script[last : match.start()])
        last = match.end()
        if "e" in match["flags"]:
            yield re.sub(r"\\[0-9]|(?<!\\)&", marks.LIST, match["new"])
    rest.append(script[last:])
    for match in _SED_EXECUTE.finditer("\n".join(rest)):
        yield match[1] or marks.LIST


def awk_commands(program: str) -> Iterator[str]:
    """What `system()` and awk's pipes would run; what is not a string literal is unknown."""
    for pattern in (_AWK_SYSTEM, _AWK_PIPE_TO, _AWK_PIPE_FROM):
        for match in pattern.finditer(program):
            yield _awk_text(match[1])


def awk_files(program: str) -> Iterator[str]:
    """Files that the program itself reads or writes."""
    for match in _AWK_FILE.finditer(program):
        yield unescape(match[1][1:-1])


def _awk_text(expression: str) -> str:
    pieces: list[str] = []
    for piece in re.split(rf"({_STRING})", expression):
        if piece[:1] == '"':
            pieces.append(unescape(piece[1:-1]))
        elif piece.strip():
            pieces.append(marks.LIST)
    return "".join(pieces)


def make_recipes(source: str) -> Iterator[str]:
    """Recipe lines and `$(shell ...)` calls of a makefile; make's own variables are unknown."""
    for match in re.finditer(r"\$\(shell\s+([^)]*)\)|!=\s*(.*)", source):
        yield match[1] or match[2]
    source = source.replace("\\\n", " ")
    for line in source.splitlines():
        recipe = line if line[:1] == "\t" else line.partition(";")[2] if ":" in line else ""
        if recipe := recipe.strip().lstrip("@-+"):
            recipe = re.sub(r"\$[({][^)}]*[)}]|\$[@<^?*%+|]", marks.LIST, recipe)
            yield recipe.replace("$$", "$")
