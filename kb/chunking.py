"""Chunking of one source: the kind decides the chunker, the packer makes the pieces."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from kb import words, workers
from kb.chunkers import Marks, chunker_of
from kb.detect import Detected, detect
from kb.html_markdown import to_markdown
from kb.packing import ChunkedDocument, Mark, no_marks, pack
from kb.workers import decode_job, encode_documents


def chunk(
    data: bytes,
    *,
    name: str | None = None,
    media_type: str | None = None,
    kind: str | None = None,
    language: str | None = None,
) -> ChunkedDocument:
    """Return `data` as chunks that tile it, each at most `CAP_BYTES` long.

    Kind and language are used if given, else detected by media type, name and shape (`kb.detect`).

    Raises:
        ValueError: `kind` is not in `CHUNKERS`.
    """
    detected = detect(data, name=name, media_type=media_type, kind=kind, language=language)
    return chunk_part(data, detected)


def chunk_next(
    data: bytes, detected: Detected, state: str | None, *, base_byte: int = 0, base_line: int = 1
) -> ChunkedDocument:
    """Return the chunks of a source's part. A later part begins where the part with this `state`
    ended. Without a state its titles lack their parents."""
    if base_byte and state is None:
        return chunk_part(data, detected, base_byte=base_byte, base_line=base_line)
    chunker = chunker_of(detected.kind)
    if chunker.resume is not None and (base_byte or chunker.resumes_first):
        try:
            scan = chunker.resume(data, state)
            document = _pack(data, scan.marks(), detected, base_byte, base_line)
            return replace(document, state=scan.state())
        except Exception:  # a source is stored whatever a chunker makes of it
            return chunk_part(data, detected, base_byte=base_byte, base_line=base_line)
    if chunker.carries_title:
        last = Mark(0, tuple(json.loads(state)) if state is not None else ())
        notes: list[str] = []
        marks = [last, *_guard(chunker.marks_at(base_byte), data, detected, notes)]
        document = _pack(data, marks, detected, base_byte, base_line)
        return replace(document, notes=tuple(notes), state=json.dumps(marks[-1].title))
    return chunk_part(data, detected, base_byte=base_byte, base_line=base_line)


def chunk_part(
    data: bytes, detected: Detected, *, base_byte: int = 0, base_line: int = 1
) -> ChunkedDocument:
    """Return the chunks of one part of a source, which begins at `base_byte` on line `base_line`.

    If a parser is needed, it runs in a separate process, since no grammar is trusted to end. If
    that process dies, the source is cut as text, and a note reports it.
    """
    needs_worker = chunker_of(detected.kind).needs_worker
    if needs_worker is not None and needs_worker(data, detected.language):
        return chunk_in_worker(data, detected, base_byte=base_byte, base_line=base_line)
    return chunk_here(data, detected, base_byte=base_byte, base_line=base_line)


def chunk_in_worker(
    data: bytes, detected: Detected, *, base_byte: int = 0, base_line: int = 1
) -> ChunkedDocument:
    """Return the same from a worker, whatever the kind, so that other work can continue here."""
    chunker_of(detected.kind)  # an unknown kind is the caller's error, not the worker's
    try:
        return workers.chunk_all([workers.Text(data, detected, base_byte, base_line)])[0]
    except workers.WorkerDiedError as error:
        document = _pack(data, no_marks(data), detected, base_byte, base_line)
        note = f"{detected.kind}: chunking {detected.language or 'it'} failed: {error}; cut as text"
        return replace(document, notes=(note,))


def chunk_together(texts: Sequence[tuple[bytes, Detected]]) -> list[ChunkedDocument]:
    """Return the same for whole sources, in one exchange with a worker; one by one if it dies of
    them. The words of all may be those of the first."""
    for _, detected in texts:
        chunker_of(detected.kind)
    try:
        return workers.chunk_all([workers.Text(*each) for each in texts])
    except workers.WorkerDiedError:
        return [chunk_in_worker(*each) for each in texts]


def chunk_here(
    data: bytes, detected: Detected, *, base_byte: int = 0, base_line: int = 1
) -> ChunkedDocument:
    """Return the same in this process, which a parser may then block or crash.

    Raises:
        ValueError: `kind` is not in `CHUNKERS`.
    """
    notes: list[str] = []
    marks = _guard(chunker_of(detected.kind).marks_at(base_byte), data, detected, notes)
    document = _pack(data, marks, detected, base_byte, base_line)
    return replace(document, notes=tuple(notes))


def _pack(
    data: bytes, marks: Iterable[Mark], detected: Detected, base_byte: int, base_line: int
) -> ChunkedDocument:
    chunks = pack(
        data,
        marks,
        kind=detected.kind,
        language=detected.language,
        base_byte=base_byte,
        base_line=base_line,
    )
    return ChunkedDocument(detected.kind, detected.language, tuple(chunks))


def _guard(find_marks: Marks, data: bytes, detected: Detected, notes: list[str]) -> Iterator[Mark]:
    """Yield the marks up to the first failure of a chunker: the rest is cut as plain text.

    A source is stored whatever a parser makes of it, so any exception ends here, as a note.
    """
    try:
        yield from find_marks(data, detected.language)
    except Exception as error:
        notes.append(f"{detected.kind}: {type(error).__name__}: {error}; the rest is cut as text")


def do_order(header: bytes, data: bytes) -> bytes:
    """Return the documents that were chunked, or the page as Markdown."""
    job = decode_job(header, data)
    if not isinstance(job, list):
        return to_markdown(data.decode(), base_url=job).encode()
    documents = []
    for text, detected, base_byte, base_line in job:
        document = chunk_here(text, detected, base_byte=base_byte, base_line=base_line)
        documents.append(words.with_search_terms(document))
    chunks = (chunk for document in documents for chunk in document.chunks)
    return encode_documents(documents, words.vocabulary_of(chunks))
