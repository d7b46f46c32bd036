"""Errors of this room: problems of a store's file or of a request."""

from __future__ import annotations

from base.stores import ReadOnlyError, RemediedError, StoreUnavailableError

__all__ = ["BadInputError", "MemoryRoomError", "ReadOnlyError", "StoreUnavailableError"]

MemoryRoomError = RemediedError


class BadInputError(MemoryRoomError):
    """Invalid input; nothing was written."""
