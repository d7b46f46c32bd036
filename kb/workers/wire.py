"""What goes between this process and a chunking worker: JSON and bytes.

A worker never sends text back: it says where chunks begin and end, and the text is cut here from
the bytes that were sent. JSON, because a worker may have been taken over by what it parsed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from kb.chunks import Chunk, ChunkedDocument
from kb.detect import Detected
from kb.packing import text_and_raw


@dataclass(frozen=True, slots=True)
class ConvertOrder:
    """HTML, which travels beside it, that is to become Markdown."""

    base_url: str | None


@dataclass(frozen=True, slots=True)
class ChunkOrder:
    """What is to be chunked: where `data`, which travels beside it, stands in its source, and what
    it is."""

    kind: str
    language: str | None
    base_byte: int
    base_line: int


Job = ChunkOrder | ConvertOrder
_JOBS: dict[str, type[Job]] = {job.__name__: job for job in (ChunkOrder, ConvertOrder)}


def encode_job(job: Job) -> bytes:
    return json.dumps([type(job).__name__, asdict(job)]).encode()


def decode_job(frame: bytes) -> Job:
    name, fields = json.loads(frame)
    return _JOBS[name](**fields)


def encode_document(document: ChunkedDocument) -> bytes:
    """The document without its text, but with the words it is found by."""
    rows = [
        (
            chunk.title,
            chunk.language,
            chunk.end_byte - chunk.start_byte,
            chunk.start_line,
            chunk.end_line,
            chunk.identifiers,
            chunk.search_terms,
        )
        for chunk in document.chunks
    ]
    words = None if document.vocabulary is None else sorted(document.vocabulary)
    return json.dumps({"chunks": rows, "notes": document.notes, "vocabulary": words}).encode()


def decode_document(frame: bytes, data: bytes, detected: Detected, base: int) -> ChunkedDocument:
    """The document that `frame` tells of `data`, which begins at byte `base` of its source.

    Raises:
        ValueError: the frame does not tile `data`; a worker that is well never sends such.
    """
    reply: dict[str, Any] = json.loads(frame)
    chunks = []
    position = 0
    for row in reply["chunks"]:
        chunk = _chunk(row, data, position, detected.kind, base)
        position += chunk.end_byte - chunk.start_byte
        chunks.append(chunk)
    if position != len(data):
        raise ValueError(f"{position} of {len(data)} bytes came back")
    notes = tuple(map(str, reply["notes"]))
    words = reply["vocabulary"]
    return ChunkedDocument(
        detected.kind,
        detected.language,
        tuple(chunks),
        notes,
        vocabulary=None if words is None else frozenset(map(str, words)),
    )


def _chunk(row: Sequence[Any], data: bytes, start: int, kind: str, base: int) -> Chunk:
    title, language, size, start_line, end_line, identifiers, search_terms = row
    if not 0 < size <= len(data) - start:
        raise ValueError(f"a chunk of {size} bytes at {start} of {len(data)}")
    text, raw = text_and_raw(data[start : start + size])
    return Chunk(
        title=tuple(title),
        text=text,
        kind=kind,
        language=language,
        start_byte=base + start,
        end_byte=base + start + size,
        start_line=start_line,
        end_line=end_line,
        identifiers=tuple(identifiers),
        raw=raw,
        search_terms=search_terms,
    )
