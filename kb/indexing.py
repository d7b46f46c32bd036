"""Sources enter the store: whole, or from a spool file whose middle is indexed later."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from kb import pending, reading, writing
from kb.access import Access
from kb.chunk import ChunkedDocument
from kb.chunking import chunk_part
from kb.detect import Detected, detect
from kb.errors import UnknownSourceError
from kb.model import Indexed

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

    def detected(self, beginning: bytes) -> Detected:
        return detect(
            beginning,
            name=self.name,
            media_type=self.media_type,
            kind=self.kind,
            language=self.language,
        )

    def new_source(
        self, detected: Detected, size: int, sha256: bytes | None = None
    ) -> writing.NewSource:
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
            sha256=sha256,
            ttl_s=self.ttl_s,
            pinned=self.pinned,
        )


def _storable(text: str) -> str:
    """`text` without lone surrogates, which no database stores."""
    return text.encode("utf-8", "replace").decode()


def add(access: Access, about: About, data: bytes) -> Indexed:
    """Chunk `data`, then store it in one transaction."""
    detected = about.detected(data)
    document = chunk_part(data, detected)
    new = about.new_source(detected, len(data), hashlib.sha256(data).digest())
    with access.writing() as db:
        source_id, version = writing.insert_source(db, new)
        writing.insert_chunks(db, source_id, document.chunks)
    return _indexed(new, source_id, version, [document])


def add_spool(
    access: Access, about: About, spool: Path, head_bytes: int, tail_bytes: int
) -> Indexed:
    """Index a file's beginning and end, and queue what lies between; a file without such a middle
    is deleted at once."""
    head, tail = pending.head_and_tail(spool, head_bytes, tail_bytes)
    detected = about.detected(head.data)
    parts = [head] if tail is None else [head, tail]
    documents = [
        chunk_part(part.data, detected, base_byte=part.start, base_line=part.line) for part in parts
    ]
    new = about.new_source(detected, parts[-1].end)
    with access.writing() as db:
        source_id, version = writing.insert_source(db, new)
        for document in documents:
            writing.insert_chunks(db, source_id, document.chunks)
        if tail is not None:
            pending.enqueue(db, source_id, spool.absolute(), head, tail)
    if tail is None:
        spool.unlink(missing_ok=True)
    return _indexed(new, source_id, version, documents)


def _indexed(
    new: writing.NewSource, source_id: int, version: int, documents: list[ChunkedDocument]
) -> Indexed:
    done = sum(c.end_byte - c.start_byte for document in documents for c in document.chunks)
    return Indexed(
        source_id=source_id,
        label=new.label,
        version=version,
        kind=new.kind,
        language=new.language,
        chunks=sum(len(document) for document in documents),
        bytes_indexed=done,
        bytes_total=new.bytes_total,
        complete=done == new.bytes_total,
        notes=tuple(note for document in documents for note in document.notes),
    )


def index_next(access: Access, limit: int) -> int | None:
    """Index one slice of the queue, of about `limit` bytes at most; how many bytes of work that
    was, or None when nothing is queued."""
    with access.reading() as db:
        queued = pending.next_queued(db)
    if queued is None:
        return None
    limit = max(limit, MIN_SLICE_BYTES)
    try:
        part = pending.read_slice(queued, limit)
    except OSError:
        with access.writing() as db:
            pending.drop(db, queued)
        return limit
    try:
        with access.reading() as db:
            source = reading.source(db, queued.source_id)
    except UnknownSourceError:  # purged meanwhile, and its row of the queue with it
        return limit
    detected = Detected(source.kind, source.language, "stored")
    document = chunk_part(part.data, detected, base_byte=part.start, base_line=part.line)
    with access.writing() as db:
        if pending.next_queued(db) != queued:  # another process was faster
            return limit
        writing.insert_chunks(db, queued.source_id, document.chunks)
        last = pending.advance(db, queued, part)
    if last:
        queued.spool.unlink(missing_ok=True)
    return len(part.data)
