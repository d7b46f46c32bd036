"""Fetching a blob whose size is known, and no byte more."""

from __future__ import annotations

from collections.abc import Callable

from fleet.dispatcher import Blobs
from fleet.errors import BlobError
from fleet.tree import Digest


async def fetch(digest: Digest, blobs: Blobs, write: Callable[[bytes], object]) -> None:
    """Have a blob written in pieces, and no byte more than it has.

    Raises:
        BlobError: it is absent, or something else.
        UnreachableError: the engine does not answer.
    """
    left = digest.size_bytes

    def take(piece: bytes) -> None:
        nonlocal left
        left -= len(piece)
        if left < 0:
            raise BlobError(f"{digest} is larger than its digest says")
        write(piece)

    await blobs.get(digest, take)
    if left:
        raise BlobError(f"{digest} is smaller than its digest says")
