"""What can be wrong with a file of what is remembered, or with what is asked of it."""

from __future__ import annotations


class MemoryRoomError(Exception):
    """Something is wrong; the message says what, `remedy` what to do."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


class StoreUnavailableError(MemoryRoomError):
    """The file cannot be opened, is locked for too long, or another release wrote it."""


class ReadOnlyError(MemoryRoomError):
    """The file can only be read."""


class BadInputError(MemoryRoomError):
    """What was given cannot be taken; nothing was written."""
