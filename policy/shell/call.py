"""One program start, for the functions that know its conventions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from base.wordlist import word_set
from policy import marks
from policy.shell.options import CliRow, Parsed, parse
from policy.shell.redirections import STDIN_PATHS, file_text
from policy.shell.state import ShellState

if TYPE_CHECKING:
    from policy.shell.state import Frame
    from policy.shell.walk import Walker

# Wrappers that Claude Code strips before it compares a command with a rule.
COMPAT_WRAPPERS = word_set("timeout time nice nohup stdbuf command builtin noglob xargs")


class ProgramCall(NamedTuple):
    """One program start, with its row on its command line."""

    walker: Walker
    name: str
    argv: tuple[str, ...]
    program: CliRow
    parsed: Parsed
    state: ShellState
    frame: Frame

    def inside(self, what: str = "") -> Frame:
        """Return the frame of the text that this program runs."""
        inner = self.frame.inside(what or self.name, self.frame.span or (0, 0), self.frame.text)
        if self.name in COMPAT_WRAPPERS:
            return inner
        return inner._replace(is_syntactic=False)

    def inside_folder(self, folder: str) -> ProgramCall:
        """Return the same program started in another folder."""
        state = self.state.copy()
        state.cwd = state.resolve(folder)
        return self._replace(state=state)

    def state_elsewhere(self) -> ShellState:
        """Return the state of programs on another machine, or in a container."""
        state = self.state.copy()
        state.cwd, state.env, state.variables = marks.WORD, {}, {}
        return state

    def operands(self) -> tuple[str, ...]:
        """Return the operands, without their places."""
        return tuple([word for _, word in self.parsed.operands])

    def text_of(self, path: str) -> str:
        """Return the text of a file that this program made or that may be read, or of stdin."""
        text = file_text(path, self.state, self.frame)
        if text == marks.LIST and path not in STDIN_PATHS and self.walker.scripts is not None:
            resolved = self.state.resolve(path)
            text = self.walker.scripts.read(self.walker, resolved) or text
        return text

    def names_in(self, path: str) -> list[str]:
        """Return the files that a file or stdin names, one on a line or before a NUL."""
        return [name for name in re.split(r"[\n\0]", self.text_of(path)) if name]

    def report_files(self, *paths: str | None, is_write: bool = False) -> None:
        """Report files that the program reads or writes."""
        for path in paths:
            if path and path != "-":
                self.walker.report_file(
                    path, self.state, self.frame, is_write=is_write, argv=self.argv
                )

    def words(self, argv: Sequence[str]) -> list[str]:
        """Return the words after the program's own options; later options belong to others."""
        program = self.program
        parsed = parse(argv, program.short, program.long.split(), permutes=False)
        return [word for _, word in parsed.operands]

    def run(self, argv: Sequence[str], state: ShellState | None = None) -> str:
        """Run an inner command."""
        return self.walker.command(tuple(argv), state or self.state.copy(), self.inside())

    def run_text(self, text: str, what: str = "", stdin: str | None = None) -> str:
        """Run shell text."""
        inner = self.inside(what)._replace(stdin=stdin)
        return self.walker.run_text(text, self.state.copy(), inner)


Runner = Callable[[ProgramCall], "str | None"]  # returns what the program prints, None if unknown


def index_of(argv: Sequence[str], *names: str) -> int | None:
    """Return the index of one of the words."""
    return next((index for index, word in enumerate(argv) if word in names), None)
