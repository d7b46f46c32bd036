"""The body of an answer, decompressed, and never larger than it may be, at either end."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator

from ctxmode.web.model import FetchError

ENCODINGS = "gzip, deflate"
_GZIP_OR_ZLIB, _RAW = 47, -15


async def read_bounded(chunks: AsyncIterator[bytes], encoding: str, bytes_max: int) -> bytes:
    """Read all of it. A FetchError says that it is larger than `bytes_max`, before or after
    decompression, damaged, or in an encoding that was not asked for."""
    names = [name.strip().lower() for name in encoding.split(",")]
    names = [name for name in names if name not in ("", "identity")]
    if len(names) > 1 or any(name not in ("gzip", "x-gzip", "deflate") for name in names):
        raise FetchError(f"it is encoded as {encoding!r}, which was not asked for")
    inflate = _Inflate(bytes_max) if names else None
    received, body = 0, bytearray()
    async for chunk in chunks:
        received += len(chunk)
        if received > bytes_max:
            raise too_large(bytes_max)
        body += chunk if inflate is None else inflate.feed(chunk)
    if inflate is not None:
        inflate.finish()
    return bytes(body)


def too_large(bytes_max: int) -> FetchError:
    return FetchError(
        f"it is larger than {bytes_max // (1024 * 1024) or bytes_max} "
        f"{'MiB' if bytes_max >= 1024 * 1024 else 'bytes'}",
        "Fetch a smaller part of it.",
    )


class _Inflate:
    """A decompressor that stops at a number of bytes, however few bytes demand more."""

    def __init__(self, bytes_max: int) -> None:
        self._room = self._bytes_max = bytes_max
        self._stream = zlib.decompressobj(_GZIP_OR_ZLIB)
        self._begun = False

    def feed(self, data: bytes) -> bytes:
        out = bytearray()
        while data:
            piece = self._inflate(data)
            self._begun = True
            if len(piece) > self._room:
                raise too_large(self._bytes_max)
            self._room -= len(piece)
            out += piece
            data = self._stream.unconsumed_tail
            if self._stream.eof:
                data = self._stream.unused_data
                if not data.startswith(b"\x1f\x8b"):
                    break  # what follows the last member is padding
                self._stream = zlib.decompressobj(_GZIP_OR_ZLIB)
        return bytes(out)

    def _inflate(self, data: bytes) -> bytes:
        try:
            return self._stream.decompress(data, self._room + 1)
        except zlib.error as error:
            if self._begun:
                raise FetchError(f"its compression is damaged: {error}") from error
        self._stream = zlib.decompressobj(_RAW)  # what some servers take deflate for
        try:
            return self._stream.decompress(data, self._room + 1)
        except zlib.error as error:
            raise FetchError(f"its compression is damaged: {error}") from error

    def finish(self) -> None:
        if self._begun and not self._stream.eof:
            raise FetchError("it ended in the middle of its compressed body")
