"""Redirections: files read and written, a command's stdin, and readers of its stdout."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from base.wordlist import word_set
from policy import marks
from policy.shell.options import SILENT_SINKS, interpreter
from policy.shell.script_files import text_on_disk
from policy.shell.state import Frame, ShellState
from policy.shell.syntax import CompoundCommand, Redirection, Simple, Statement

if TYPE_CHECKING:
    from policy.shell.walk import Walker

_TO_TERMINAL = word_set("/dev/stdout /dev/stderr /dev/tty /dev/fd/1 /dev/fd/2")
STDIN_PATHS = word_set("- /dev/stdin /dev/fd/0 /proc/self/fd/0")


def redirect(
    walker: Walker,
    redirections: Sequence[Redirection],
    state: ShellState,
    frame: Frame,
    argv: tuple[str, ...],
) -> tuple[Frame, list[tuple[str, bool]]]:
    """Return the command's frame, and the files its stdout goes to (path, appends)."""
    if not redirections:
        return frame, []
    opening = _Opening(walker, state, frame, argv)
    for item in redirections:
        opening.apply(item)
    return opening.frame, opening.targets


class _Opening:
    """The redirections of one command, applied one after the other."""

    def __init__(
        self, walker: Walker, state: ShellState, frame: Frame, argv: tuple[str, ...]
    ) -> None:
        self.walker = walker
        self.state = state
        self.frame = frame
        self.argv = argv
        self.targets: list[tuple[str, bool]] = []

    def apply(self, item: Redirection) -> None:
        """Follow one redirection."""
        if item.operator in ("<<", "<<-", "<<<"):
            text = self.walker.expander.text(item.target.parts, self.state)
            if item.fd in ("", "0"):
                stdin = text + "\n" if item.operator == "<<<" else text
                self.frame = self.frame._replace(stdin=stdin)
            return
        for fields in self.walker.expander.fields(item.target, self.state):
            for target in fields:
                if item.operator in (">&", "<&") and re.fullmatch(r"\d*-?", target):
                    self._duplicate(item, target)
                elif item.operator in ("<", "<>", "<&"):
                    self._read(item, target)
                elif target not in _TO_TERMINAL:
                    self._write(item, target)

    def _duplicate(self, item: Redirection, target: str) -> None:
        if item.operator == "<&" and item.fd in ("", "0") and target not in ("-", "0"):
            self.frame = self.frame._replace(stdin=marks.LIST)
        elif item.operator == ">&" and item.fd in ("", "1") and target == "-":
            self.frame = self.frame._replace(is_visible=False)

    def _read(self, item: Redirection, target: str) -> None:
        self._report(item, target, is_write=item.operator == "<>")
        if item.fd in ("", "0"):
            stdin = file_text(target, self.state, self.frame)
            if stdin == marks.LIST and self.argv[:1] in (("patch",), ("git",)):
                stdin = text_on_disk(self.walker, target, self.state) or stdin
            self.frame = self.frame._replace(stdin=stdin)

    def _write(self, item: Redirection, target: str) -> None:
        self._report(item, target, is_write=True)
        if item.fd in ("", "1") or item.operator.startswith("&"):
            self.targets.append((target, item.operator.endswith(">>")))
            self.frame = self.frame._replace(is_visible=False)

    def _report(self, item: Redirection, target: str, *, is_write: bool) -> None:
        frame = self.frame
        if frame.span is None:
            place = self.walker.place(item.start, item.end, frame)
            frame = frame._replace(span=place.span, text=place.text)
        self.walker.report_file(target, self.state, frame, is_write=is_write, argv=self.argv)


def store(output: str, targets: Sequence[tuple[str, bool]], state: ShellState) -> str:
    """Remember the text that went to files; a command whose stdout is redirected prints nothing."""
    for target, appends in targets:
        path = state.resolve(target)
        before = state.files.get(path, "") if appends else ""
        state.files[path] = (before + output)[: 1 << 16]
    return "" if targets else output


def file_text(path: str, state: ShellState, frame: Frame) -> str:
    """Return the text of a file, if this program made it; else unknown."""
    if path in STDIN_PATHS:
        return frame.stdin if frame.stdin is not None else marks.LIST
    if not state.files:
        return marks.LIST
    return state.files.get(state.resolve(path), marks.LIST)


def is_silent(stage: Statement) -> bool:
    """Return whether a pipeline stage hides all its input from the terminal."""
    if isinstance(stage, Simple | CompoundCommand):
        for item in stage.redirections:
            if item.operator in (">", ">>", ">|", "&>", "&>>") and item.fd in ("", "1"):
                return True
    if not isinstance(stage, Simple) or not stage.words or not stage.words[0].parts:
        return False
    given = ["".join(getattr(part, "text", "") for part in word.parts) for word in stage.words]
    while len(given) > 1 and (given[0] == "sudo" or given[0][:1] == "-"):
        given.pop(0)
    name, *rest = given
    only_counts = any(re.fullmatch(r"-[a-zA-Z]*[qc]\w*|--(quiet|silent|count)", w) for w in rest)
    name = name.rsplit("/", 1)[-1]
    if interpreter(name) and (not rest or rest[0] == "-"):
        return True  # it is run
    return name in SILENT_SINKS or (name in ("grep", "egrep", "rg") and only_counts)
