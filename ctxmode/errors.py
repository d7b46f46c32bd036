"""Errors a caller can act on: a message says what is wrong, a hint says what to do."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


def nearest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Find the nearest known word; empty where none is near."""
    import difflib  # noqa: PLC0415 - only a mistake pays for it

    return next(iter(difflib.get_close_matches(word, tuple(known), n=1, cutoff=cutoff)), "")


def did_you_mean(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Write `Did you mean X? `, or nothing."""
    meant = nearest(word, known, cutoff)
    return f"Did you mean {meant}? " if meant else ""


def or_all(word: str, known: Iterable[str], what: str, cutoff: float = 0.6) -> str:
    """Write the whole hint: what was probably meant, and all that there is."""
    names = tuple(known)
    return f"{did_you_mean(word, names, cutoff)}{what}: {', '.join(names)}."


OUT_OF_ROOM_OR_RIGHTS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM)


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


def unwrap(raised: BaseException) -> BaseException:
    """Return the one exception inside the groups that nurseries wrap it in, or the first of
    several."""
    while isinstance(raised, BaseExceptionGroup):
        raised = raised.exceptions[0]
    return raised


class UsageError(ContextModeError):
    """What was asked for is malformed; asking again in the same way cannot succeed."""

    exit_code = 2


@contextmanager
def translate_errors() -> Iterator[None]:
    """Raise errors of the rooms below that a caller can mend as errors of the front door."""
    try:
        yield
    except Exception as error:
        cause = unwrap(error)  # what opens in a nursery fails in a group
        translation = _translate(cause) if isinstance(cause, Exception) else None
        if translation is None:
            raise
        raise translation from error


def _translate(error: Exception) -> ContextModeError | None:
    """Word the error for the front door; None if it is a defect."""
    from executor import (  # noqa: PLC0415 - only errors pay
        PackagesError,
        RequestError,
        SandboxUnavailableError,
    )
    from kb import StoreError  # noqa: PLC0415
    from policy import RuleFileError  # noqa: PLC0415

    if isinstance(error, RuleFileError):
        return ContextModeError(f"{error.path}:{error.line}: {error.problem}", error.remedy)
    if isinstance(error, RequestError):
        return UsageError(error.message, error.hint)
    if isinstance(error, SandboxUnavailableError):
        return ContextModeError(f"no sandbox is available: {error.reason}", error.remedy)
    if isinstance(error, StoreError | PackagesError):
        return ContextModeError(str(error), getattr(error, "hint", ""))
    if isinstance(error, OSError) and error.errno in OUT_OF_ROOM_OR_RIGHTS:
        place = f": {error.filename}" if error.filename else ""
        hint = "Free some space there, or check its owner and mode."
        return ContextModeError(f"{error.strerror}{place}", hint)
    return None
