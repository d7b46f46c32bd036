"""One program start, for the functions that know its conventions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from base.wordlist import word_set
from policy import marks
from policy.shell.file_texts import STDIN_PATHS, file_text
from policy.shell.options import CliRow, Parsed, parse
from policy.shell.state import ShellState

if TYPE_CHECKING:
    from policy.shell.walk import Walk

# Wrappers that Claude Code strips before it compares a command with a rule.
COMPAT_WRAPPERS = word_set("timeout time nice nohup stdbuf command builtin noglob xargs")


class ProgramCall(NamedTuple):
    """One program start, with its row on its command line."""

    walk: Walk
    name: str
    argv: tuple[str, ...]
    program: CliRow
    parsed: Parsed

    @property
    def state(self) -> ShellState:
        """The state in which it starts."""
        return self.walk.state

    def inside(self, what: str = "") -> Walk:
        """Return the walk of the text that this program runs, in a separate state."""
        walk = self.walk.apart()
        inner = walk.inside(what or self.name, walk.span or (0, 0), walk.text)
        return inner if self.name in COMPAT_WRAPPERS else inner._replace(is_syntactic=False)

    def inside_folder(self, folder: str) -> ProgramCall:
        """Return the same program started in another folder."""
        walk = self.walk.apart()
        walk.state.cwd = walk.state.resolve(folder)
        return self._replace(walk=walk)

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
        text, findings = file_text(self.walk, path), self.walk.findings
        if text == marks.LIST and path not in STDIN_PATHS:
            text = findings.read(self.state.resolve(path)) or text
        return text

    def names_in(self, path: str) -> list[str]:
        """Return the files that a file or stdin names, one on a line or before a NUL."""
        return [name for name in re.split(r"[\n\0]", self.text_of(path)) if name]

    def report_files(self, *paths: str | None, is_write: bool = False) -> None:
        """Report files that the program reads or writes."""
        for path in paths:
            if path and path != "-":
                self.walk.report_file(path, is_write=is_write, argv=self.argv)

    def words(self, argv: Sequence[str]) -> list[str]:
        """Return the words after the program's own options; later options belong to others."""
        program = self.program
        parsed = parse(argv, program.short, program.long.split(), permutes=False)
        return [word for _, word in parsed.operands]

    def run(self, argv: Sequence[str]) -> str:
        """Run an inner command."""
        return self.inside().command(tuple(argv))

    def run_text(self, text: str, what: str = "", stdin: str | None = None) -> str:
        """Run shell text."""
        return self.inside(what)._replace(stdin=stdin).run_text(text)


Runner = Callable[[ProgramCall], "str | None"]  # returns what the program prints, None if unknown


def index_of(argv: Sequence[str], *names: str) -> int | None:
    """Return the index of one of the words."""
    return next((index for index, word in enumerate(argv) if word in names), None)
