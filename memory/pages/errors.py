"""What can be wrong with the repository of pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memory.errors import BadInputError, MemoryRoomError

if TYPE_CHECKING:
    from memory.pages.answers import Problem


class GitError(MemoryRoomError):
    """git is missing, failed, printed too much or took too long."""


class MovedError(MemoryRoomError):
    """The branch has moved since its head was read; nothing was committed."""


class BadPagesError(BadInputError):
    """Pages cannot be committed; each of their problems is told."""

    def __init__(self, message: str, remedy: str, problems: Sequence[Problem]) -> None:
        super().__init__(message, remedy)
        self.problems = tuple(problems)
