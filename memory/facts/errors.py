"""What can be wrong with what is asked of facts."""

from __future__ import annotations

from memory.errors import MemoryRoomError


class UnknownFactError(MemoryRoomError):
    """No live fact has this id or path."""


class UnknownBranchError(MemoryRoomError):
    """No branch has this name, or it takes no more writes."""


class ClosedBranchError(UnknownBranchError):
    """The branch was merged or dropped, and takes no more writes."""
