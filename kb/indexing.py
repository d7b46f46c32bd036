"""Sources enter the store: whole, or from a spool file whose middle is indexed later."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from kb import eviction, pending, reading, redaction, words, writing
from kb.access import Access
from kb.chunking import chunk_in_worker, chunk_next, chunk_part
from kb.chunks import Chunk, ChunkedDocument
from kb.compression import compressed
from kb.conversion import Converted, convert
from kb.detect import Detected, detect
from kb.errors import UnknownSourceError
from kb.model import Indexed, Origin

MIN_SLICE_BYTES = 8192
"""A slice must be longer than any chunk, so that it ends where one may end."""


@dataclass(frozen=True, slots=True)
class About:
    """What is known of a source besides its bytes; see `Store.add`."""

    label: str
    origin: str
    name: str | None = None
    kind: str | None = None
    language: str | None = None
    media_type: str | None = None
    session: str | None = None
    path: str | None = None
    mtime_ns: int | None = None
    inode: int | None = None
    ttl_s: float | None = None
    pinned: bool = False
    base_url: str | None = None
    series: str | None = None
    met: bool = False
    """Whether it is a file that was met in a folder, rather than named by itself."""

    def detected(self, beginning: bytes) -> Detected:
        return detect(
            beginning,
            name=self.name,
            media_type=self.media_type,
            kind=self.kind,
            language=self.language,
        )

    def text(self, data: bytes) -> Converted:
        """What is kept of `data`: of a run, every byte of it."""
        if self.origin == Origin.RUN:
            detected = self.detected(data)
            return Converted(data, detected, detected)
        return convert(
            data,
            name=self.name,
            media_type=self.media_type,
            kind=self.kind,
            language=self.language,
            base_url=self.base_url,
        )

    def new_source(self, detected: Detected, size: int) -> writing.NewSource:
        return writing.NewSource(
            label=_storable(self.label),
            kind=detected.kind,
            language=detected.language,
            origin=self.origin,
            bytes_total=size,
            session=_storable(self.session) if self.session else None,
            path=self.path,
            mtime_ns=self.mtime_ns,
            inode=self.inode,
            ttl_s=self.ttl_s,
            pinned=self.pinned,
            series=self.series,
            met=self.met,
        )


@dataclass(frozen=True, slots=True)
class _Cut:
    """One part of a source, ready to be stored: secrets are out, and counted where they begin."""

    chunks: tuple[Chunk, ...]
    bodies: tuple[str | bytes, ...]
    """Their texts as they are stored: made before the database is held, for it takes a while."""
    vocabulary: frozenset[str]
    notes: tuple[str, ...]
    redactions: int
    state: str | None = None


def _storable(text: str) -> str:
    """`text` without lone surrogates, which no database stores."""
    return text.encode("utf-8", "replace").decode()


@dataclass(frozen=True, slots=True)
class Prepared:
    """A whole source, converted, cut and without its secrets, which only remains to be stored."""

    new: writing.NewSource
    cut: _Cut


def add(access: Access, about: About, data: bytes) -> Indexed:
    """Chunk `data`, then store it in one transaction."""
    eviction.admit(access, len(data))
    prepared = prepare(access, about, data)
    with access.writing() as db:
        return store(access, db, [prepared])[0]


def prepare(access: Access, about: About, data: bytes, *, apart: bool = False) -> Prepared:
    """All that can be done before the database is needed; `apart` has workers do what takes long,
    so that several threads of this process get on."""
    text = about.text(data)
    part = pending.Part(text.data, 0, 1)
    chunker = chunk_in_worker if apart else chunk_part
    cut = _cut(part, text.chunked_as, redaction.spans(access.redact, text.data), chunker)
    new = replace(
        about.new_source(text.detected, len(text.data)),
        sha256=hashlib.sha256(data).digest(),
        file_size=None if about.path is None else len(data),
        converted="; ".join(text.steps) or None,
    )
    return Prepared(new, cut)


def store(access: Access, db: sqlite3.Connection, prepared: Sequence[Prepared]) -> list[Indexed]:
    """Store sources in this order, within the caller's transaction."""
    added = [writing.insert_source(db, source.new) for source in prepared]
    ids = [source_id for source_id, _ in added]
    _store(access, db, list(zip(ids, (source.cut for source in prepared), strict=True)))
    return [
        _indexed(source.new, source_id, version, [source.cut])
        for source, (source_id, version) in zip(prepared, added, strict=True)
    ]


def add_spool(
    access: Access, about: About, spool: Path, head_bytes: int, tail_bytes: int
) -> Indexed:
    """Index a file's beginning and end, and queue what lies between; a file without such a middle
    is deleted at once."""
    eviction.admit(access, spool.stat().st_size)
    head, tail = pending.head_and_tail(spool, head_bytes, tail_bytes)
    detected = about.detected(head.data)
    parts = [head] if tail is None else [head, tail]
    cuts = [
        _cut(part, detected, _secrets_of(access, part, spool), partial(chunk_next, state=None))
        for part in parts
    ]
    new = about.new_source(detected, parts[-1].end)
    with access.writing() as db:
        source_id, version = writing.insert_source(db, new)
        _store(access, db, [(source_id, cut) for cut in cuts])
        if tail is not None:
            pending.enqueue(db, source_id, spool.absolute(), head, tail, cuts[0].state)
    if tail is None:
        spool.unlink(missing_ok=True)
    return _indexed(new, source_id, version, cuts)


def _secrets_of(access: Access, part: pending.Part, spool: Path) -> tuple[redaction.Span, ...]:
    """The secrets that lie in a part of a file or reach into it."""
    if access.redact is None:
        return ()
    start = max(part.start - redaction.CONTEXT_BYTES, 0)
    with spool.open("rb") as stream:
        stream.seek(start)
        data = stream.read(part.end - start + redaction.CONTEXT_BYTES)
    found = redaction.spans(access.redact, data, base_byte=start)
    return tuple(span for span in found if span.end > part.start and span.start < part.end)


def _cut(
    part: pending.Part,
    detected: Detected,
    secrets: Sequence[redaction.Span],
    chunker: Callable[..., ChunkedDocument] = chunk_part,
) -> _Cut:
    blanked = redaction.blanked(part.data, secrets, base_byte=part.start)
    document = chunker(blanked, detected, base_byte=part.start, base_line=part.line)
    if secrets:
        chunks = tuple(redaction.marked(document.chunks, secrets))
        document = replace(document, chunks=chunks, vocabulary=None)
    document = words.with_search_words(document)
    return _Cut(
        document.chunks,
        tuple(compressed(chunk.text) for chunk in document.chunks),
        document.vocabulary or frozenset(),
        document.notes,
        sum(part.start <= secret.start < part.end for secret in secrets),
        document.state,
    )


def _store(access: Access, db: sqlite3.Connection, parts: Sequence[tuple[int, _Cut]]) -> None:
    """Store parts of sources, whose words together."""
    writing.insert_chunks(db, ((source_id, cut.chunks, cut.bodies) for source_id, cut in parts))
    vocabulary = frozenset().union(*(cut.vocabulary for _, cut in parts))
    writing.insert_words(db, vocabulary, access.known_words)
    for source_id, cut in parts:
        writing.count_redactions(db, source_id, cut.redactions)


def _indexed(new: writing.NewSource, source_id: int, version: int, cuts: list[_Cut]) -> Indexed:
    done = sum(c.end_byte - c.start_byte for cut in cuts for c in cut.chunks)
    return Indexed(
        source_id=source_id,
        label=new.label,
        version=version,
        kind=new.kind,
        language=new.language,
        chunks=sum(len(cut.chunks) for cut in cuts),
        bytes_indexed=done,
        bytes_total=new.bytes_total,
        complete=done == new.bytes_total,
        notes=tuple(note for cut in cuts for note in cut.notes),
        converted=new.converted,
        redactions=sum(cut.redactions for cut in cuts),
    )


def index_queued(access: Access, limit_bytes: int, source_id: int | None = None) -> None:
    """Index up to about `limit_bytes` of what is queued, of one source or of all.

    Raises:
        StoreError: a slice could not be stored; it stays queued.
    """
    while limit_bytes > 0:
        done = _index_next(access, limit_bytes, source_id)
        if done is None:
            return
        limit_bytes -= done


def _index_next(access: Access, limit: int, only: int | None) -> int | None:
    """Index as much of the queue as goes into one transaction, of about `limit` bytes at most; how
    many bytes of work that was, or None when nothing is queued."""
    with access.reading() as db:
        queued = pending.next_queued(db, only)
    if queued is None:
        return None
    try:
        with access.reading() as db:
            source = reading.source(db, queued.source_id)
    except UnknownSourceError:  # purged meanwhile, and its row of the queue with it
        return limit
    detected = Detected(source.kind, source.language, "stored")
    slices = list(_next_slices(access, queued, detected, limit))
    with access.writing() as db:
        if pending.next_queued(db, only) != queued:  # another process was faster
            return limit
        if not slices:
            pending.drop(db, queued)
            return limit
        _store(access, db, [(queued.source_id, cut) for _, cut in slices])
        last, cut = slices[-1]
        done = pending.advance(db, queued, last, cut.state)
    if done:
        queued.spool.unlink(missing_ok=True)
    return sum(len(part.data) for part, _ in slices)


def _next_slices(
    access: Access, queued: pending.Queued, detected: Detected, limit: int
) -> Iterator[tuple[pending.Part, _Cut]]:
    """What is to be stored next of a spool file; nothing where it cannot be read."""
    at: pending.Queued | None = queued
    for _ in range(pending.TRANSACTION_SLICES):
        if at is None or limit <= 0:
            return
        try:
            part = pending.read_slice(at, max(min(limit, pending.SLICE_BYTES), MIN_SLICE_BYTES))
            secrets = _secrets_of(access, part, at.spool)
        except OSError:
            return
        cut = _cut(part, detected, secrets, partial(chunk_next, state=at.state))
        yield part, cut
        limit -= len(part.data)
        at = at.behind(part, cut.state)
