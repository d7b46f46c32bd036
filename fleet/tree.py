"""Blobs by their digests, as the Remote Execution API has them."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

SIZE_MAX = 2**63 - 1
_HASH = re.compile(r"[0-9a-f]{64}")


class TreeError(ValueError):
    """What is no digest of a blob."""


@dataclass(frozen=True, slots=True, order=True)
class Digest:
    """A blob by its content: sha256 in 64 lower-case hexadecimal digits, and its size in bytes."""

    hash: str
    size_bytes: int

    def __post_init__(self) -> None:
        """Refuse what no blob has.

        Raises:
            TreeError: it is no digest of sha256, or the size is negative.
        """
        if not _HASH.fullmatch(self.hash):
            raise TreeError(f"no digest of sha256: {self.hash[:80]!r}")
        if not 0 <= self.size_bytes <= SIZE_MAX:
            raise TreeError(f"no size of a blob: {self.size_bytes}")

    def __str__(self) -> str:
        return f"{self.hash}/{self.size_bytes}"


def digest_of(data: bytes) -> Digest:
    """The digest of a blob."""
    return Digest(hashlib.sha256(data).hexdigest(), len(data))
