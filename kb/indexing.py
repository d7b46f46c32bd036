"""Indexing of sources: whole, or from a spool file whose middle is indexed later."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import starmap
from pathlib import Path

from kb import eviction, reading, redaction, spool_queue, words, writing
from kb.access import Access
from kb.chunking import chunk_in_worker, chunk_next, chunk_part, chunk_together
from kb.compression import compress, indexed_text, is_noise
from kb.decoding import as_utf8
from kb.detect import Detected, detect
from kb.html_markdown import MAX_HTML_BYTES
from kb.model import Indexed, Origin, SourceSpec, StoredContent, StoreError, UnknownSourceError
from kb.packing import Chunk, ChunkedDocument
from kb.workers import to_markdown

MARKDOWN = Detected("markdown", "markdown", "converted")


MIN_SLICE_BYTES = 8192
"""A slice must be longer than any chunk, so that it ends where one may end."""


_Cut = tuple[ChunkedDocument, tuple[str | bytes, ...], int]
"""One part of a source, ready to be stored: secrets are out, and counted where they begin.

Its chunks, their texts as stored, and the secrets. Texts take long, and are made before the lock.
"""

Prepared = tuple[SourceSpec, StoredContent, _Cut]
"""A whole source, converted, cut and without its secrets, which only remains to be stored."""


def add(access: Access, spec: SourceSpec, data: bytes, *, wait_s: float | None = None) -> Indexed:
    """Chunk `data`, then store it in one transaction."""
    eviction.admit(access, len(data))
    prepared = prepare(access, spec, data)
    with access.writing(wait_s=wait_s) as db:
        return store(access, db, [prepared])[0]


def prepare(access: Access, spec: SourceSpec, data: bytes) -> Prepared:
    """Do all that can be done before the database is needed."""
    content, text, chunked_as = convert(spec, data)
    part = spool_queue.SpoolPart(text, 0, 1)
    return spec, content, _cut(part, chunked_as, redaction.spans(access.redact, text))


def prepare_all(access: Access, sources: Sequence[tuple[SourceSpec, bytes]]) -> list[Prepared]:
    """Prepare several sources. Workers do what takes long, so that other threads of this process
    can run; those without secrets are cut together."""
    texts = [convert(spec, data) for spec, data in sources]
    found = [redaction.spans(access.redact, text) for _, text, _ in texts]
    plain = [
        (text, chunked_as)
        for (_, text, chunked_as), spans in zip(texts, found, strict=True)
        if not spans
    ]
    together = iter(chunk_together(plain))
    prepared: list[Prepared] = []
    for (spec, _), (content, text, chunked_as), spans in zip(sources, texts, found, strict=True):
        if spans:
            part = spool_queue.SpoolPart(text, 0, 1)
            cut = _cut(part, chunked_as, spans, chunk_in_worker)
        else:
            cut = _finish(next(together))
        prepared.append((spec, content, cut))
    return prepared


def _detect(spec: SourceSpec, beginning: bytes) -> Detected:
    return detect(
        beginning,
        name=spec.name,
        media_type=spec.media_type,
        kind=spec.kind,
        language=spec.language,
    )


def convert(spec: SourceSpec, data: bytes) -> tuple[StoredContent, bytes, Detected]:
    """Return `data` as text that can be cut into exact chunks: the stored content, the text, and
    its kind. Every byte of a run's output is preserved."""
    text, steps = data, list[str]()
    if spec.origin != Origin.RUN:
        text, encoding = as_utf8(data)
        steps += [] if encoding is None else [f"{encoding} to UTF-8"]
    detected = chunked_as = _detect(spec, text)
    is_html = spec.origin != Origin.RUN and detected.kind == "html"
    if is_html and text.strip() and len(text) <= MAX_HTML_BYTES:
        markdown = to_markdown(text.decode("utf-8", "replace"), base_url=spec.base_url)
        text, chunked_as = markdown.encode(), MARKDOWN
        steps.append("HTML to Markdown")
    content = StoredContent(
        detected.kind,
        detected.language,
        len(text),
        None if spec.path is None else len(data),
        hashlib.sha256(data).digest(),
        "; ".join(steps) or None,
    )
    return content, text, chunked_as


def store(access: Access, db: sqlite3.Connection, prepared: Sequence[Prepared]) -> list[Indexed]:
    """Store sources in this order, within the caller's transaction."""
    added = [writing.insert_source(db, spec, content) for spec, content, _ in prepared]
    ids = [source_id for source_id, _ in added]
    _store(access, db, list(zip(ids, (cut for _, _, cut in prepared), strict=True)))
    return [
        _answer(spec, content, row, [cut])
        for (spec, content, cut), row in zip(prepared, added, strict=True)
    ]


def add_spool(
    access: Access, spec: SourceSpec, spool: Path, head_bytes: int, tail_bytes: int
) -> Indexed:
    """Index a file's beginning and end, and queue the middle; a file without one is deleted at
    once."""
    eviction.admit(access, spool.stat().st_size)
    head, tail = spool_queue.head_and_tail(spool, head_bytes, tail_bytes)
    detected = _detect(spec, head.data)
    parts = [head] if tail is None else [head, tail]
    cuts = [
        _cut(part, detected, _secrets_of(access, part, spool), partial(chunk_next, state=None))
        for part in parts
    ]
    content = StoredContent(detected.kind, detected.language, parts[-1].end)
    with access.writing() as db:
        source_id, version = writing.insert_source(db, spec, content)
        _store(access, db, [(source_id, cut) for cut in cuts])
        if tail is not None:
            spool_queue.enqueue(db, source_id, spool.absolute(), head, tail, cuts[0][0].state)
    if tail is None:
        spool.unlink(missing_ok=True)
    return _answer(spec, content, (source_id, version), cuts)


def _secrets_of(
    access: Access, part: spool_queue.SpoolPart, spool: Path
) -> tuple[redaction.Span, ...]:
    """Find the secrets that are in a part of a file or reach into it."""
    if access.redact is None:
        return ()
    start = max(part.start - redaction.CONTEXT_BYTES, 0)
    with spool.open("rb") as stream:
        stream.seek(start)
        data = stream.read(part.end - start + redaction.CONTEXT_BYTES)
    found = redaction.spans(access.redact, data, base_byte=start)
    return tuple(span for span in found if span[1] > part.start and span[0] < part.end)


def _cut(
    part: spool_queue.SpoolPart,
    detected: Detected,
    secrets: Sequence[redaction.Span],
    chunker: Callable[..., ChunkedDocument] = chunk_part,
) -> _Cut:
    blanked = redaction.blank_out(part.data, secrets, base_byte=part.start)
    document = chunker(blanked, detected, base_byte=part.start, base_line=part.line)
    if secrets:
        chunks = tuple(redaction.mark_secrets(document.chunks, secrets))
        document = replace(document, chunks=chunks, vocabulary=None)
    return _finish(document, sum(part.start <= start < part.end for start, _, _ in secrets))


def _finish(document: ChunkedDocument, redactions: int = 0) -> _Cut:
    document = words.with_search_terms(document)
    vocabulary = document.vocabulary
    bodies = tuple(compress(chunk.text, chunk.raw) for chunk in document.chunks)
    if any(map(is_noise, bodies)):
        pairs = zip(document.chunks, bodies, strict=True)
        document = replace(document, chunks=tuple(starmap(_leave_out_noise, pairs)))
        vocabulary = None
    if vocabulary is None:
        vocabulary = words.vocabulary_of(document.chunks)
    return replace(document, vocabulary=vocabulary), bodies, redactions


def _leave_out_noise(chunk: Chunk, body: str | bytes) -> Chunk:
    """Return the chunk's indexed part. The first line of plain text is its title."""
    if not is_noise(body):
        return chunk
    title = () if chunk.kind == "text" else chunk.title
    terms = " ".join(chunk.identifiers)
    return replace(chunk, text=indexed_text(body), title=title, search_terms=terms)


def _store(access: Access, db: sqlite3.Connection, parts: Sequence[tuple[int, _Cut]]) -> None:
    """Store parts of sources, and their words together."""
    rows = ((source_id, document.chunks, bodies) for source_id, (document, bodies, _) in parts)
    writing.insert_chunks(db, rows)
    vocabulary = frozenset().union(*(cut[0].vocabulary or () for _, cut in parts))
    writing.insert_words(db, vocabulary, access.known_words)
    for source_id, (_, _, redactions) in parts:
        writing.count_redactions(db, source_id, redactions)


def _answer(
    spec: SourceSpec, content: StoredContent, row: tuple[int, int], cuts: list[_Cut]
) -> Indexed:
    chunks = [chunk for document, _, _ in cuts for chunk in document]
    done = sum(chunk.end_byte - chunk.start_byte for chunk in chunks)
    return Indexed(
        source_id=row[0],
        label=writing.storable_text(spec.label),
        version=row[1],
        kind=content.kind,
        language=content.language,
        chunks=len(chunks),
        bytes_indexed=done,
        bytes_total=content.bytes_total,
        complete=done == content.bytes_total,
        notes=tuple(note for document, _, _ in cuts for note in document.notes),
        converted=content.converted,
        redactions=sum(redactions for _, _, redactions in cuts),
    )


def index_queued(
    access: Access, limit_bytes: int, source_id: int | None = None, *, wait_s: float | None = None
) -> None:
    """Index up to about `limit_bytes` of what is queued, of one source or of all.

    Raises:
        StoreError: a slice could not be stored; it stays queued.
    """
    while limit_bytes > 0:
        done = _index_next(access, limit_bytes, source_id, wait_s)
        if done is None:
            return
        limit_bytes -= done


def _index_next(access: Access, limit: int, only: int | None, wait_s: float | None) -> int | None:
    """Index as much of the queue as fits one transaction of about `limit` bytes. Return the bytes
    of work done, or None if nothing is queued."""
    with access.reading() as db:
        queued = spool_queue.next_queued(db, only)
    if queued is None:
        return None
    try:
        with access.reading() as db:
            source = reading.source(db, queued.source_id)
    except UnknownSourceError:  # purged since, with its row of the queue
        return limit
    detected = Detected(source.kind, source.language, "stored")
    slices = list(_next_slices(access, queued, detected, limit))
    with access.writing(wait_s=wait_s) as db:
        if spool_queue.next_queued(db, only) != queued:  # another process was faster
            return limit
        if not slices:
            spool_queue.drop(db, queued)
            return limit
        _store(access, db, [(queued.source_id, cut) for _, cut in slices])
        last, (document, _, _) = slices[-1]
        done = spool_queue.advance(db, queued, last, document.state)
    if done:
        queued.spool.unlink(missing_ok=True)
    return sum(len(part.data) for part, _ in slices)


def _next_slices(
    access: Access, queued: spool_queue.Queued, detected: Detected, limit: int
) -> Iterator[tuple[spool_queue.SpoolPart, _Cut]]:
    """Yield the next parts of a spool file to store; none if it cannot be read."""
    at: spool_queue.Queued | None = queued
    for _ in range(spool_queue.TRANSACTION_SLICES):
        if at is None or limit <= 0:
            return
        try:
            part = spool_queue.read_slice(
                at, max(min(limit, spool_queue.SLICE_BYTES), MIN_SLICE_BYTES)
            )
            secrets = _secrets_of(access, part, at.spool)
        except OSError:
            return
        cut = _cut(part, detected, secrets, partial(chunk_next, state=at.state))
        yield part, cut
        limit -= len(part.data)
        at = at.behind(part, cut[0].state)


def index_or_evict(access: Access, limit_bytes: int) -> bool:
    """Index some of the queue and evict towards the quota; otherwise move some superseded chunks.
    Return False if nothing was left to do.

    Raises:
        StoreError: queued or superseded chunks could not be stored.
    """
    if access.read_only:
        return False
    index_queued(access, limit_bytes)
    with access.reading() as db:
        more = reading.count_bytes_left(db, None) > 0
    with suppress(StoreError):  # which must not keep the queue from being indexed
        more = eviction.step(access) or more
    return more or _move_superseded(access)


def _move_superseded(access: Access) -> bool:
    with access.reading() as db:
        if not reading.any_unmoved(db):
            return False
    with access.writing() as db:
        return writing.move_superseded(db)
