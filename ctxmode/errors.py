"""Errors a caller can act on: a message says what is wrong, a hint says what to do."""

from __future__ import annotations


class ContextModeError(Exception):
    """Something expected went wrong outside the program that was run. A person sees `message` and,
    on a line of its own, `hint`; never a traceback."""

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n{self.hint}" if self.hint else self.message


def why(error: Exception) -> str:
    """Say what was wrong: a system's error without its number and its path."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def sole(raised: BaseException) -> BaseException:
    """Return the one exception inside the groups that nurseries wrap it in, or the first of
    several."""
    while isinstance(raised, BaseExceptionGroup):
        raised = raised.exceptions[0]
    return raised


class UsageError(ContextModeError):
    """What was asked for is malformed; asking again in the same way cannot succeed."""

    exit_code = 2
