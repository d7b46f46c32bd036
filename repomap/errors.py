"""What can go wrong with a map, and what to do then."""

from __future__ import annotations


class MapError(Exception):
    """A map cannot be made or read; `remedy` says what to do."""

    def __init__(self, message: str, remedy: str = "") -> None:
        """Keep both texts."""
        super().__init__(message)
        self.message = message
        self.remedy = remedy


class MapDamagedError(MapError):
    """The file of a map is damaged, or of another form: what it says cannot be relied on."""


class MapInputError(MapError):
    """What was asked for is not what it must be."""
