"""Errors of the rooms below that a caller can mend, in the front door's words."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from ctxmode.errors import ContextModeError, UsageError

OUT_OF_ROOM_OR_RIGHTS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM)


@contextmanager
def translate_errors() -> Iterator[None]:
    """Raise errors of the rooms below that a caller can mend as errors of the front door."""
    try:
        yield
    except Exception as error:
        if (translation := _translate(error)) is None:
            raise
        raise translation from error


def _translate(error: Exception) -> ContextModeError | None:
    """Word the error for the front door; None if it is a defect."""
    from executor import RequestError, SandboxUnavailableError  # noqa: PLC0415 - only errors pay
    from kb import StoreError  # noqa: PLC0415
    from policy import RuleFileError  # noqa: PLC0415

    if isinstance(error, RuleFileError):
        return ContextModeError(f"{error.path}:{error.line}: {error.problem}", error.remedy)
    if isinstance(error, RequestError):
        return UsageError(error.message, error.hint)
    if isinstance(error, SandboxUnavailableError):
        return ContextModeError(f"no sandbox is available: {error.reason}", error.remedy)
    if isinstance(error, StoreError):
        return ContextModeError(str(error))
    if isinstance(error, OSError) and error.errno in OUT_OF_ROOM_OR_RIGHTS:
        place = f": {error.filename}" if error.filename else ""
        hint = "Free some space there, or check its owner and mode."
        return ContextModeError(f"{error.strerror}{place}", hint)
    return None
