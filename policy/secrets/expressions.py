"""Expressions of bytes that are compiled with the first text that has need of them.

Compiling all of them takes longer than reading most texts, and a hook has no time for it.
"""

from __future__ import annotations

import re
from functools import cached_property

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Expression:
    """One expression, with the methods of a compiled one."""

    def __init__(self, text: bytes, flags: int = 0) -> None:
        self._text = text
        self._flags = flags

    @cached_property
    def compiled(self) -> re.Pattern[bytes]:
        """Compile it at its first use."""
        return re.compile(self._text, self._flags)

    @cached_property
    def match(self) -> Callable[..., re.Match[bytes] | None]:
        return self.compiled.match

    @cached_property
    def fullmatch(self) -> Callable[..., re.Match[bytes] | None]:
        return self.compiled.fullmatch

    @cached_property
    def search(self) -> Callable[..., re.Match[bytes] | None]:
        return self.compiled.search

    @cached_property
    def findall(self) -> Callable[..., list[bytes]]:
        return self.compiled.findall

    @cached_property
    def finditer(self) -> Callable[..., Iterator[re.Match[bytes]]]:
        return self.compiled.finditer
