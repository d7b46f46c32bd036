"""Stored forms of a chunk's text: deflated if that makes it smaller, and the part to index.

Random data would take several times its size in the indexes, for words that nobody looks for.
"""

from __future__ import annotations

import re
import sqlite3
import zlib

_LEVEL = 6
"""Of texts as short as chunks, level 1 takes nearly as long and leaves more."""

_WINDOW_BITS = 12
"""A window as long as the longest chunk. With zlib's default, memory is allocated for each text
that the system then maps and unmaps: three times the work."""

_MEMORY_LEVEL = 4
"""Equally less memory for its tables; the results are as short."""

SQL_NAME = "chunk_text"
"""SQL's name for `indexed_text`. Every connection to a store needs it: the indexes read the text
through views."""

_NOISE = b"\0"
"""The first byte of stored noise; zlib's bytes begin with their method instead."""

_NOISE_BYTES_MIN = 1024
_NOISE_SHARE, _UNREADABLE_SHARE = 0.72, 0.9
"""The size, after deflating, above which text counts as noise. In chunks of a kilobyte base64 comes
to 0.78, words that never recur to 0.67. Non-Latin scripts take bytes that hardly differ."""

_BLOB = re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9]{200,}")
_UNBROKEN = re.compile(r"[!-~]{40,}")
_READABLE = re.compile(r"[\t -~]{16,}")


def compress(text: str, raw: bytes | None = None) -> str | bytes:
    """Return the text, or bytes from which it, or its source `raw`, can be restored."""
    data = text.encode() if raw is None else raw
    deflater = zlib.compressobj(_LEVEL, zlib.DEFLATED, _WINDOW_BITS, _MEMORY_LEVEL)
    deflated = deflater.compress(data) + deflater.flush()
    if _tells_nothing(text, len(deflated) / max(len(data), _NOISE_BYTES_MIN)):
        return _NOISE + deflated
    return deflated if raw is not None or len(deflated) < len(data) else text


def _tells_nothing(text: str, share: float) -> bool:
    if share > (_NOISE_SHARE if text.isascii() else _UNREADABLE_SHARE):
        return True
    blobs = sum(map(len, _BLOB.findall(text)))
    return blobs > max(len(text) / 2, _NOISE_BYTES_MIN)


def is_noise(stored: str | bytes) -> bool:
    """Return whether only the readable part of a stored text is indexed."""
    return isinstance(stored, bytes) and stored.startswith(_NOISE)


def restore(stored: str | bytes) -> bytes:
    """Return the bytes that were stored.

    Raises:
        zlib.error: they are damaged.
    """
    if isinstance(stored, str):
        return stored.encode()
    return zlib.decompress(stored.removeprefix(_NOISE))


def decompress(stored: str | bytes) -> str:
    """Return the text that was stored; zlib.error as `restore`."""
    return stored if isinstance(stored, str) else restore(stored).decode("utf-8", "replace")


def indexed_text(stored: str | bytes) -> str:
    """Return the indexed part of a stored text; zlib.error as `restore`."""
    text = decompress(stored)
    if not is_noise(stored):
        return text
    text = _UNBROKEN.sub(" ", text)
    return text if text.isascii() else "\n".join(_READABLE.findall(text))


def register(db: sqlite3.Connection) -> None:
    """Make the indexed part of stored texts available to the connection."""
    db.create_function(SQL_NAME, 1, indexed_text, deterministic=True)
