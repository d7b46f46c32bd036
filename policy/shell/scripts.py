"""Commands inside the little languages of sed and awk."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from policy import marks
from policy.shell.ansi import unescape

_SED_SUBSTITUTE = re.compile(
    r"s(?P<d>[^\w\s\\])(?:\\.|(?!(?P=d)).)*(?P=d)"
    r"(?P<new>(?:\\.|(?!(?P=d)).)*)(?P=d)(?P<flags>[gpiImMe0-9]*)",
    re.DOTALL,
)
_SED_EXECUTE = re.compile(r"(?:^|[;{}\n]|\d|\$|/[IM]?|!)\s*e(?:\s+([^\n;}]+)|\s*(?=$|[;}\n]))")
_SED_FILE = re.compile(r"(?:^|[;{}\n]|\d|\$|/)\s*([rRwW])(?:\s+|(?=[./]))([^\n;}]+)")
_AWK_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|#[^\n]*|[\w$]+|\|\||&&|\|&|>>|\n|[^\s\w"]')
_SHELL = re.compile(r"(?:/\S*/)?(?:ba|da|z|k|a)?sh(?:\s+-\w+)*")
_AWK_ENDS = frozenset((";", "{", "}", "\n", "&&", "||"))


def find_sed_commands(script: str) -> Iterator[str]:
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
    tokens = _awk_tokens(program)
    prints = False
    for index, piece in enumerate(tokens):
        following = tokens[index + 1] if index + 1 < len(tokens) else ""
        if piece in _AWK_ENDS:
            prints = False
        prints |= piece in ("print", "printf")
        if piece == "system" and following == "(":
            yield _awk_text(_read_enclosed(tokens, index + 1))
        elif piece in ("|", "|&") and following == "getline":
            yield _awk_text(_statement_before(tokens, index))
        elif piece in ("|", "|&") and (prints or following[:1] == '"'):
            started = _awk_text(_statement_after(tokens, index))
            is_shell = prints and _SHELL.fullmatch(started.strip())
            yield _awk_text(_statement_before(tokens, index)[1:]) if is_shell else started


def _awk_tokens(program: str) -> list[str]:
    """The tokens, names that are given one plain text replaced by it."""
    tokens = _AWK_TOKEN.findall(program)
    given: dict[str, set[str]] = {}
    for index in range(1, len(tokens) - 1):
        if tokens[index] == "=" and tokens[index - 1].isidentifier():
            given.setdefault(tokens[index - 1], set()).add(tokens[index + 1])
    known = {
        name: text
        for name, texts in given.items()
        if len(texts) == 1 and (text := min(texts))[:1] == '"'
    }
    return [
        token if after == "=" else known.get(token, token)
        for token, after in itertools.zip_longest(tokens, tokens[1:])
    ]


def _read_enclosed(tokens: list[str], opening: int) -> list[str]:
    level = 0
    for index in range(opening, len(tokens)):
        level += (tokens[index] == "(") - (tokens[index] == ")")
        if level == 0:
            return tokens[opening + 1 : index]
    return tokens[opening + 1 :]


def _statement_before(tokens: list[str], end: int) -> list[str]:
    start = end
    while start and tokens[start - 1] not in _AWK_ENDS and tokens[start - 1] not in ("(", "while"):
        start -= 1
    return tokens[start:end]


def _statement_after(tokens: list[str], start: int) -> list[str]:
    end = start + 1
    while end < len(tokens) and tokens[end] not in _AWK_ENDS:
        end += 1
    return tokens[start + 1 : end]


def find_sed_files(script: str) -> Iterator[tuple[str, bool]]:
    """Files that the commands `r`, `R`, `w` and `W` name, and whether they are written."""
    for command, path in _SED_FILE.findall(script):
        yield path.strip(), command in "wW"


def awk_files(program: str) -> Iterator[tuple[str, bool]]:
    """Files that the program itself reads or writes, and whether it writes them."""
    tokens = _awk_tokens(program)
    for index in range(len(tokens) - 1):
        if tokens[index] in ("<", ">", ">>") and tokens[index + 1][:1] == '"':
            yield unescape(tokens[index + 1][1:-1]), tokens[index] != "<"


def _awk_text(tokens: list[str]) -> str:
    """Adjacent strings are one text; anything else in between is unknown."""
    pieces: list[str] = []
    for token in tokens:
        if token[:1] == '"':
            pieces.append(unescape(token[1:-1]))
        elif token[:1] not in ("(", ")", "#") and pieces[-1:] != [marks.LIST]:
            pieces.append(marks.LIST)
    return "".join(pieces)
