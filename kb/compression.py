"""A chunk's text as it is stored: deflated, where that makes it smaller, and what of it is indexed.

Random data would take several times its size in the indexes, for words that nobody looks for.
"""

from __future__ import annotations

import re
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
"""By this name SQL knows `indexed_text`. Every connection to a store needs it: the indexes read the
text through views."""

_NOISE = b"\0"
"""What stands before the bytes of noise; before no others, as zlib's begin with their method."""

_NOISE_BYTES_MIN = 1024
_NOISE_SHARE, _UNREADABLE_SHARE = 0.72, 0.9
"""To how much of its size noise is deflated at least. In chunks of a kilobyte base64 comes to 0.78,
words of which none recurs to 0.67. Other scripts than Latin take bytes that hardly differ."""

_BLOB = re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9]{200,}")
_UNBROKEN = re.compile(r"[!-~]{40,}")
_READABLE = re.compile(r"[\t -~]{16,}")


def compress(text: str, raw: bytes | None = None) -> str | bytes:
    """Return the text, or bytes from which it can be restored; so can be `raw`, which it is of."""
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
    """Tell whether only what can be read of a stored text is indexed."""
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
    """Return what of a stored text is indexed; zlib.error as `restore`."""
    text = decompress(stored)
    if not is_noise(stored):
        return text
    text = _UNBROKEN.sub(" ", text)
    return text if text.isascii() else "\n".join(_READABLE.findall(text))


def register(db: sqlite3.Connection) -> None:
    """Let the connection read what is indexed of stored texts."""
    db.create_function(SQL_NAME, 1, indexed_text, deterministic=True)
