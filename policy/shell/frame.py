"""Where a walk is: the text it reads, what wraps it, what it can read and who sees its output."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from policy.effects import Span
from policy.shell.state import ShellState
from policy.shell.syntax import ShellSyntaxError

if TYPE_CHECKING:
    from policy.shell.walk import Walker

RUN_DEPTH_MAX = 16  # programs that run programs, texts inside texts


class Frame(NamedTuple):
    """Where the walk is.

    `span` is set inside text that does not stand in the subject as it is (the argument of `bash
    -c`): everything in it is placed at that span. `stdin` is what the commands can read, None when
    that is the terminal or unknown to matter. `is_visible` says that stdout reaches whoever asked,
    `is_captured` that a variable holds it.
    """

    source: str
    span: Span | None = None
    nesting: tuple[str, ...] = ()
    is_syntactic: bool = True
    is_visible: bool = True
    stdin: str | None = None
    depth: int = 0
    calls: tuple[str, ...] = ()
    text: str = ""
    is_captured: bool = False

    def at(self, span: Span, text: str) -> Frame:
        """The frame of a command in this one's text."""
        return Frame(
            self.source, span, self.nesting, self.is_syntactic, self.is_visible, self.stdin,
            self.depth, self.calls, text, self.is_captured,
        )  # fmt: skip

    def inside(self, what: str, span: Span | None = None, text: str | None = None) -> Frame:
        """The frame of a program or text that this one runs; too deep is an error."""
        if self.depth >= RUN_DEPTH_MAX:
            raise ShellSyntaxError(f"programs that run programs, {RUN_DEPTH_MAX} deep")
        return self._replace(
            span=span or self.span or (0, 0),
            nesting=(*self.nesting, what),
            depth=self.depth + 1,
            text=self.text if text is None else text,
        )


Screen = Callable[["Walker", str, str, ShellState, Frame], None]
