"""The data of chunking: `Mark` says where a section starts, `Chunk` is an exact bounded piece."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

TARGET_BYTES = 1500
"""What a chunk aims at: small enough to be an answer, large enough to be understood alone."""

CAP_BYTES = 4096
"""What no chunk exceeds, of whatever kind and shape."""

MERGE_BYTES = 400
"""Neighbours below this join when they stand under one parent."""


class Mark(NamedTuple):
    """A section that starts here and lasts until the next mark, so marks tile their source.

    A tuple rather than a dataclass because a source has thousands.
    """

    start: int
    title: tuple[str, ...] = ()
    whole: bool = False  # stay in one chunk while under the cap: a fence, a table, a stack trace
    language: str | None = None
    identifiers: tuple[str, ...] = ()
    alone: bool = False  # it joins no neighbour, however small


@dataclass(frozen=True, slots=True)
class Chunk:
    """One piece of a source.

    Chunks of a source tile it: each starts where the one before ended. Lines count from 1 and are
    ended by a line feed.
    """

    title: tuple[str, ...]
    text: str  # the bytes [start_byte, end_byte) as UTF-8; what is not UTF-8 is U+FFFD
    kind: str
    language: str | None
    start_byte: int
    end_byte: int
    start_line: int
    end_line: int  # the line of the last byte
    identifiers: tuple[str, ...] = ()
    raw: bytes | None = None  # the bytes themselves, where not all are UTF-8
    search_terms: str | None = None  # more words that find this text; None if it is replaced

    @property
    def title_text(self) -> str:
        return " > ".join(self.title)


@dataclass(frozen=True, slots=True)
class ChunkedDocument:
    """What became of one source: its kind, its chunks in order, and what had to be given up."""

    kind: str
    language: str | None
    chunks: tuple[Chunk, ...]
    notes: tuple[str, ...] = ()
    state: str | None = None  # of a part of a source: what chunking the next part must know
    vocabulary: frozenset[str] | None = None  # what typing mistakes are corrected against, if known

    def __iter__(self) -> Iterator[Chunk]:
        return iter(self.chunks)

    def __len__(self) -> int:
        return len(self.chunks)


def no_marks(data: bytes, language: str | None = None) -> Iterator[Mark]:
    """Yield nothing: plain text has no sections, so the packer alone cuts it at blank lines."""
    yield from ()
