"""The executor's exceptions, by whose fault it is. A program's own failure is never one of them."""

from __future__ import annotations


class RequestError(Exception):
    """The caller asked for something that can't be run; `hint` says what to do instead."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class SandboxUnavailableError(Exception):
    """No permitted tier of isolation works here; `remedy` says what would help."""

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy


class SandboxError(Exception):
    """A cell could not be made or was lost: our failure, or the machine's."""


class PackagesError(Exception):
    """Packages can't be had; `hint` says what would help. Nothing half-made is left."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
