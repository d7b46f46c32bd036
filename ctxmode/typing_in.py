"""Where an interactive session gets its programs from: a person at a terminal, or a pipe."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import trio

from runtimes import Language

if TYPE_CHECKING:
    from prompt_toolkit.lexers import Lexer

Reader = Callable[[], Awaitable[str | None]]
"""The next program; None at the end."""

_BRACKETS = {")": "(", "]": "[", "}": "{"}
_GOES_ON = ("\\", ",", "->", "=>", "{", "(", "[")
_GO_ON_WORDS = ("do", "then", "else", "begin")


def is_complete(text: str) -> bool:
    """Whether a program is ready to run, as far as any language's looks tell.

    It is not while a bracket is open, or its last line announces more, or a line before it has
    begun a block; an empty line ends it in any case.
    """
    lines = text.split("\n")
    if not lines[-1].strip():
        return True
    if lines[-1].rstrip().endswith(_GOES_ON) or any(map(_begins_block, lines)):
        return False
    return _is_balanced(text)


def _begins_block(line: str) -> bool:
    words = line.split()
    return bool(words) and (words[-1].endswith(":") or words[-1] in _GO_ON_WORDS)


def _is_balanced(text: str) -> bool:
    """Whether all brackets outside quotes are closed; too many are for the language to tell."""
    opened: list[str] = []
    quote = ""
    escaped = False
    for character in text:
        if escaped:
            escaped = False
        elif character == "\\":
            escaped = True
        elif quote:
            quote = "" if character in (quote, "\n") else quote
        elif character in "\"'`":
            quote = character
        elif character in _BRACKETS.values():
            opened.append(character)
        elif character in _BRACKETS and opened and opened[-1] == _BRACKETS[character]:
            opened.pop()
    return not opened


def piped(source: TextIO) -> Reader:
    """Programs from a pipe, cut as they would be at a terminal."""

    async def read() -> str | None:
        lines: list[str] = []
        while line := await trio.to_thread.run_sync(source.readline, abandon_on_cancel=True):
            lines.append(line.removesuffix("\n"))
            if is_complete("\n".join(lines)):
                return "\n".join(lines)
        return "\n".join(lines) if lines else None

    return read


def typed(row: Language, folder: Path) -> Reader:
    """Programs from a person, with editing, highlighting and a history kept below `folder`."""
    from prompt_toolkit import PromptSession  # noqa: PLC0415 - for terminals only
    from prompt_toolkit.filters import Condition  # noqa: PLC0415
    from prompt_toolkit.history import FileHistory  # noqa: PLC0415

    folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def goes_on() -> bool:
        return not is_complete(session.default_buffer.text)

    session: PromptSession[str] = PromptSession(
        f"{row.name}> ",
        multiline=Condition(goes_on),
        history=FileHistory(str(folder / row.name)),
        lexer=_lexer(row),
        prompt_continuation=lambda width, *_: ".".rjust(width - 1) + " ",
    )

    async def read() -> str | None:
        try:
            return await trio.to_thread.run_sync(
                lambda: session.prompt(handle_sigint=False), abandon_on_cancel=True
            )
        except KeyboardInterrupt:
            return ""
        except EOFError:
            return None

    return read


def _lexer(row: Language) -> Lexer | None:
    """What colours a language's programs, where pygments knows it by one of its names."""
    from prompt_toolkit.lexers import PygmentsLexer  # noqa: PLC0415

    lexers, util = import_module("pygments.lexers"), import_module("pygments.util")
    for name in (row.name, row.grammar, *row.aliases):
        try:
            return PygmentsLexer(lexers.find_lexer_class_by_name(name))
        except util.ClassNotFound:
            continue
    return None
