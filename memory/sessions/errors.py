"""What can be wrong with what is asked of a store of sessions."""

from __future__ import annotations

from memory.errors import MemoryRoomError


class UnknownSessionError(MemoryRoomError):
    """No session has this id, or several begin with it."""
