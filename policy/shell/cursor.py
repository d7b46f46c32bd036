"""A position in shell text, shared by the readers of words, here-documents and token lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from policy.shell.syntax import Part, ShellSyntaxError, Token

DEPTH_MAX = 24  # nested quotes and substitutions; people stay below 6
RETRIES_MAX = 12  # each may read the rest of the text; scripts in use need one or two

ReadList = Callable[["Cursor", str], tuple[Token, ...]]


class Cursor:
    """A position in a text; shared by the readers of words and of token lists. `in_place` is False
    for a text made from another one, whose offsets mean nothing."""

    __slots__ = ("depth", "heredocs", "in_place", "pos", "read_list", "retries", "text")

    def __init__(
        self,
        text: str,
        read_list: ReadList,
        *,
        depth: int = 0,
        in_place: bool = True,
        retries: int = 0,
    ) -> None:
        self.text = text
        self.read_list = read_list
        self.pos = 0
        self.depth = depth
        self.in_place = in_place
        self.retries = retries
        self.heredocs: list[Heredoc] = []

    def peek(self, length: int = 1) -> str:
        """The next characters, without moving."""
        return self.text[self.pos : self.pos + length]

    def descend(self) -> None:
        """Go one level deeper; too deep is an error, never a wrong answer."""
        self.depth += 1
        if self.depth > DEPTH_MAX:
            raise ShellSyntaxError(f"nested more than {DEPTH_MAX} levels deep")

    def rewind(self, pos: int, depth: int) -> None:
        """Go back to read the same text another way; bounded, as nested retries multiply."""
        self.pos, self.depth = pos, depth
        self.retries += 1
        if self.retries > RETRIES_MAX:
            raise ShellSyntaxError("too many ambiguous parentheses")


class Heredoc(NamedTuple):
    """A here-document announced by `<<` whose body begins at the next newline."""

    delimiter: str
    is_quoted: bool
    strips_tabs: bool
    body: list[Part]  # filled when the newline is reached; the redirection already refers to it
