"""Where an interactive session gets its programs from: a person at a terminal, or a pipe."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import trio

from ctxmode.repl.commands import is_command
from ctxmode.repl.completeness import is_complete
from runtimes import Language

if TYPE_CHECKING:
    from prompt_toolkit.lexers import Lexer

Reader = Callable[[], Awaitable[str | None]]
"""The next program, or a command; None at the end."""


def is_ready(text: str, row: Language) -> bool:
    """Tell whether what is typed can be acted on."""
    return is_command(text) or is_complete(text, row)


def build_pipe_reader(source: TextIO, row: Language) -> Reader:
    """Read programs from a pipe, cut as they would be at a terminal."""

    async def read() -> str | None:
        lines: list[str] = []
        while line := await trio.to_thread.run_sync(source.readline, abandon_on_cancel=True):
            lines.append(line.removesuffix("\n"))
            if is_ready("\n".join(lines), row):
                return "\n".join(lines)
        return "\n".join(lines) if lines else None

    return read


def build_terminal_reader(row: Language, folder: Path) -> Reader:
    """Read programs from a person, with editing, highlighting and a history kept below `folder`."""
    from prompt_toolkit import PromptSession  # noqa: PLC0415 - for terminals only
    from prompt_toolkit.filters import Condition  # noqa: PLC0415
    from prompt_toolkit.history import FileHistory  # noqa: PLC0415

    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    session: PromptSession[str] = PromptSession(
        f"{row.name}> ",
        multiline=Condition(lambda: not is_ready(session.default_buffer.text, row)),
        history=FileHistory(str(folder / row.name)),
        lexer=_lexer(row),
        prompt_continuation=lambda width, *_: ".".rjust(width - 1) + " ",
    )
    ask = partial(session.prompt, handle_sigint=False)

    async def read() -> str | None:
        try:
            return await trio.to_thread.run_sync(ask, abandon_on_cancel=True)
        except KeyboardInterrupt:
            return ""
        except EOFError:
            return None

    return read


def _lexer(row: Language) -> Lexer | None:
    """Find what colours a language's programs, where pygments knows it by one of its names."""
    from prompt_toolkit.lexers import PygmentsLexer  # noqa: PLC0415

    lexers, util = import_module("pygments.lexers"), import_module("pygments.util")
    for name in (row.name, row.grammar, *row.aliases):
        try:
            return PygmentsLexer(lexers.find_lexer_class_by_name(name))
        except util.ClassNotFound:
            continue
    return None
