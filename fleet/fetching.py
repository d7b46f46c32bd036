"""Fetching a blob whose size is known, and no byte more; one that came along is not asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fleet.dispatcher import Source
from fleet.errors import BlobError
from fleet.tree import Digest


@dataclass(frozen=True, slots=True)
class WithContents:
    """Blobs of which some are here already."""

    contents: Mapping[Digest, bytes]
    rest: Source

    async def get(self, digest: Digest, write: Callable[[bytes], object]) -> None:
        """Hand over a blob; see `Source`."""
        content = self.contents.get(digest)
        if content is None:
            await self.rest.get(digest, write)
        else:
            write(content)


async def fetch(digest: Digest, blobs: Source, write: Callable[[bytes], object]) -> None:
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
