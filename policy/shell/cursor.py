"""A position in shell text, shared by the readers of words, here-documents and token lists."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from policy.shell.syntax import Part, ShellSyntaxError, Token

DEPTH_MAX = 24  # nested quotes and substitutions; people stay below 6
RETRIES_MAX = 12  # each may read the rest of the text; scripts in use need one or two


@dataclass(slots=True)
class Cursor:
    """A position in a text; shared by the readers of words and of token lists."""

    text: str
    read_list: Callable[[Cursor, str], tuple[Token, ...]]
    pos: int = 0
    depth: int = 0
    in_place: bool = True  # False for a text made from another one, whose offsets mean nothing
    retries: int = 0
    heredocs: list[Heredoc] = field(default_factory=list)

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


@dataclass(slots=True)
class Heredoc:
    """A here-document announced by `<<` whose body begins at the next newline."""

    delimiter: str
    is_quoted: bool
    strips_tabs: bool
    body: list[Part]  # filled when the newline is reached; the redirection already refers to it
