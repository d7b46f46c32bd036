"""What can be wrong with a store of sessions, or with what is asked of it."""

from __future__ import annotations


class SessionsError(Exception):
    """Something is wrong; the message says what, `remedy` what to do."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


class StoreUnavailableError(SessionsError):
    """The file cannot be opened, is locked for too long, or another release wrote it."""


class ReadOnlyError(SessionsError):
    """The file can only be read."""


class UnknownSessionError(SessionsError):
    """No session has this id, or several begin with it, which is then `is_ambiguous`."""

    def __init__(self, message: str, remedy: str = "", *, is_ambiguous: bool = False) -> None:
        super().__init__(message, remedy)
        self.is_ambiguous = is_ambiguous
