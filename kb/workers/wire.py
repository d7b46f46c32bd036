"""Messages between this process and a chunking worker: JSON and bytes.

A worker never sends text: it sends where chunks begin and end, and the text is cut here from the
bytes that were sent. JSON, because parsed input may have taken over a worker.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from kb.detect import Detected
from kb.packing import Chunk, ChunkedDocument, text_and_raw


class Text(NamedTuple):
    """A text to chunk: its description, and where in its source it begins."""

    data: bytes
    detected: Detected
    base_byte: int = 0
    base_line: int = 1


Job = Sequence[Text] | str | None
"""Texts to be chunked together, whose bytes are sent separately, one after the other; or the base
URL, if any, of HTML that is to become Markdown."""


def encode_job(job: Job) -> bytes:
    if job is None or isinstance(job, str):
        return json.dumps(job).encode()
    rows = [
        (detected.kind, detected.language, len(data), base_byte, base_line)
        for data, detected, base_byte, base_line in job
    ]
    return json.dumps(rows).encode()


def decode_job(frame: bytes, data: bytes) -> list[Text] | str | None:
    """Decode the job of a frame, its texts with their bytes, which are `data`."""
    order: list[Any] | str | None = json.loads(frame)
    if order is None or isinstance(order, str):
        return order
    texts, at = list[Text](), 0
    for kind, language, size, base_byte, base_line in order:
        detected = Detected(kind, language, "said")
        texts.append(Text(data[at : at + size], detected, base_byte, base_line))
        at += size
    return texts


def encode_documents(documents: Sequence[ChunkedDocument], vocabulary: Iterable[str]) -> bytes:
    """Encode the documents with their search words, without their text."""
    rows = [([_row(chunk) for chunk in document.chunks], document.notes) for document in documents]
    return json.dumps({"documents": rows, "vocabulary": list(vocabulary)}).encode()


def _row(chunk: Chunk) -> tuple[object, ...]:
    return (
        chunk.title,
        chunk.language,
        chunk.end_byte - chunk.start_byte,
        chunk.start_line,
        chunk.end_line,
        chunk.identifiers,
        chunk.search_terms,
    )


def decode_documents(frame: bytes, texts: Sequence[Text]) -> list[ChunkedDocument]:
    """Decode the documents that `frame` describes for `texts`. The first has the vocabulary of all.

    Raises:
        ValueError: the frame does not tile them, which no intact worker sends.
    """
    reply: dict[str, Any] = json.loads(frame)
    vocabulary = frozenset(map(str, reply["vocabulary"]))
    documents = []
    for text, (rows, notes) in zip(texts, reply["documents"], strict=True):
        documents.append(
            ChunkedDocument(
                text.detected.kind,
                text.detected.language,
                tuple(_chunks(rows, text)),
                tuple(map(str, notes)),
                vocabulary=vocabulary,
            )
        )
        vocabulary = frozenset()
    return documents


def _chunks(rows: Sequence[Sequence[Any]], text: Text) -> Iterator[Chunk]:
    position = 0
    for row in rows:
        yield _chunk(row, text.data, position, text.detected.kind, text.base_byte)
        position += row[2]
    if position != len(text.data):
        raise ValueError(f"the chunks cover {position} of {len(text.data)} bytes")


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
