"""One source becomes its chunks: the kind decides the chunker, the packer makes the pieces."""

from __future__ import annotations

from collections.abc import Iterator

from kb.chunk import ChunkedDocument, Mark
from kb.chunkers import CHUNKERS, CONTINUED, Chunker
from kb.detect import Detected, detect
from kb.packing import pack


def chunk(
    data: bytes,
    *,
    name: str | None = None,
    media_type: str | None = None,
    kind: str | None = None,
    language: str | None = None,
) -> ChunkedDocument:
    """`data` as chunks that tile it, each at most `CAP_BYTES` long.

    Kind and language are taken as said, else decided by media type, name and shape
    (`kb.detect`).

    Raises:
        ValueError: `kind` is none of `CHUNKERS`.
    """
    detected = detect(data, name=name, media_type=media_type, kind=kind, language=language)
    return chunk_part(data, detected)


def chunk_part(
    data: bytes, detected: Detected, *, base_byte: int = 0, base_line: int = 1
) -> ChunkedDocument:
    """The chunks of one part of a source, which begins at `base_byte` on line `base_line`."""
    try:
        chunker = CHUNKERS[detected.kind]
    except KeyError:
        known = ", ".join(sorted(CHUNKERS))
        raise ValueError(f"unknown kind {detected.kind!r}: use one of {known}") from None
    if base_byte > 0:
        chunker = CONTINUED.get(detected.kind, chunker)
    notes: list[str] = []
    marks = _guarded(chunker, data, detected, notes)
    chunks = tuple(
        pack(
            data,
            marks,
            kind=detected.kind,
            language=detected.language,
            base_byte=base_byte,
            base_line=base_line,
        )
    )
    return ChunkedDocument(detected.kind, detected.language, chunks, tuple(notes))


def _guarded(chunker: Chunker, data: bytes, detected: Detected, notes: list[str]) -> Iterator[Mark]:
    """The marks up to the first failure of a chunker: what remains is cut as plain text.

    A source is kept whatever a parser makes of it, so any exception of one ends here, as a note.
    """
    try:
        yield from chunker(data, detected.language)
    except Exception as error:
        notes.append(f"{detected.kind}: {type(error).__name__}: {error}; the rest is cut as text")
