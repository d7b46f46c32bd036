"""What can go wrong with images: a message says what, a hint says what to do."""

from __future__ import annotations


class ImageError(Exception):
    """An image could not be made, checked or removed. `output` is what the failing step printed."""

    def __init__(self, message: str, hint: str = "", output: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.output = output
