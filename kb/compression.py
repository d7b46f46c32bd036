"""A chunk's text as it is stored: deflated, where that makes it smaller."""

from __future__ import annotations

import sqlite3
import zlib

_LEVEL = 6
"""Of texts as short as chunks, level 1 takes nearly as long and leaves more."""

_WINDOW_BITS = 12
"""A window as long as the longest chunk. With zlib's usual one as much memory is asked for anew
with each text as the system then has to hand out and take back: three times the work."""

_MEMORY_LEVEL = 4
"""As much less for its tables; what comes out is as short."""

SQL_NAME = "chunk_text"
"""By this name SQL knows `decompress`. Every connection to a store needs it: the indexes read the
text through views."""


def compress(text: str) -> str | bytes:
    """The text, or bytes from which it can be restored."""
    data = text.encode()
    deflater = zlib.compressobj(_LEVEL, zlib.DEFLATED, _WINDOW_BITS, _MEMORY_LEVEL)
    deflated = deflater.compress(data) + deflater.flush()
    return deflated if len(deflated) < len(data) else text


def decompress(stored: str | bytes) -> str:
    """The text that was stored.

    Raises:
        zlib.error: the bytes are damaged.
    """
    return stored if isinstance(stored, str) else zlib.decompress(stored).decode()


def register(db: sqlite3.Connection) -> None:
    """Let the connection read stored texts."""
    db.create_function(SQL_NAME, 1, decompress, deterministic=True)
