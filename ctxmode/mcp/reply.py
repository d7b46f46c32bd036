"""What a tool gives back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mcp.types import ImageContent


@dataclass(frozen=True, slots=True)
class Reply:
    """Text to read, the same as data, and whether it is an error.

    `produced` is how many bytes of text the call's work brought forth, shown or not
    (`ctxmode.operations.usage`).
    """

    text: str
    data: dict[str, Any]
    is_error: bool = False
    images: tuple[ImageContent, ...] = ()
    produced: int = 0
