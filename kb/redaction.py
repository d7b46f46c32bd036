"""Redaction before storing: secrets are blanked before anything reads the text, and a mark names
them.

Blanks are as long as what they cover, so chunks keep the byte ranges of the source. Neither a title
nor a word of the vocabulary can hold a part of a secret.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from kb.packing import Chunk

CONTEXT_BYTES = 8192
"""The context around a part of a larger source in which secrets across its edge are found."""

_BLANK = b"x"
_LINE_ENDS = b"\r\n"


class SecretSpan(Protocol):
    """Position of a secret, in bytes, and its kind."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def kind(self) -> str: ...


FindSecrets = Callable[[bytes], Sequence[SecretSpan]]


Span = tuple[int, int, str]
"""A secret's first byte in a source, the byte after it, and its kind."""


def spans(find: FindSecrets | None, data: bytes, *, base_byte: int = 0) -> tuple[Span, ...]:
    """Find the secrets in `data`, which begins at `base_byte`; in order, none overlap."""
    if find is None:
        return ()
    found = sorted((s.start, s.end, s.kind) for s in find(data) if s.end > s.start)
    apart: list[Span] = []
    for start, end, kind in found:
        start += base_byte  # noqa: PLW2901
        if apart and start < apart[-1][1]:
            start = apart[-1][1]  # noqa: PLW2901
        if start < end + base_byte:
            apart.append((start, end + base_byte, kind))
    return tuple(apart)


def blank_out(data: bytes, secrets: Sequence[Span], *, base_byte: int = 0) -> bytes:
    """Return `data` with every secret overwritten; line ends stay where they are."""
    if not secrets:
        return data
    text = bytearray(data)
    for first, behind, _ in secrets:
        start, end = max(first - base_byte, 0), min(behind - base_byte, len(data))
        covered = text[start:end]
        text[start:end] = bytes(byte if byte in _LINE_ENDS else _BLANK[0] for byte in covered)
    return bytes(text)


def mark_secrets(chunks: Sequence[Chunk], secrets: Sequence[Span]) -> Iterator[Chunk]:
    """Yield the chunks of blanked text with each blank replaced by the mark of its kind."""
    ends = [end for _, end, _ in secrets]
    for chunk in chunks:
        at = bisect_left(ends, chunk.start_byte + 1)
        inside = []
        while at < len(secrets) and secrets[at][0] < chunk.end_byte:
            inside.append(secrets[at])
            at += 1
        yield _mark(chunk, inside) if inside else chunk


def _mark(chunk: Chunk, secrets: Sequence[Span]) -> Chunk:
    data = chunk.raw if chunk.raw is not None else chunk.text.encode()
    pieces = []
    position = 0
    for first, behind, kind in secrets:
        start = max(first - chunk.start_byte, 0)
        pieces += [data[position:start], f"[REDACTED:{kind}]".encode()]
        position = min(behind - chunk.start_byte, len(data))
    raw = b"".join([*pieces, data[position:]])
    text = raw.decode("utf-8", "replace")
    return replace(chunk, text=text, raw=None if chunk.raw is None else raw, search_terms=None)
