"""Errors of this room: what can be wrong with a file of a store, or with what is asked of it."""

from __future__ import annotations

from base.stores import ReadOnlyError, RemediedError, StoreUnavailableError

__all__ = ["BadInputError", "MemoryRoomError", "ReadOnlyError", "StoreUnavailableError"]

MemoryRoomError = RemediedError


class BadInputError(MemoryRoomError):
    """What was given cannot be taken; nothing was written."""
