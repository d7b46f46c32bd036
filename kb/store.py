"""The store: one SQLite file that keeps sources, their chunks and the index over them."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from kb import files, pending, purging, reading, terms, writing
from kb.chunking import chunk_part
from kb.connection import connect, prepare
from kb.detect import detect
from kb.errors import StoreReadOnlyError, UnknownSourceError, translated
from kb.filetypes import canonical_language
from kb.filters import Filters
from kb.model import Check, Hit, Indexed, Progress, Purged, QueryResult, Source, Stats
from kb.search import search


class Store:
    """What was kept of one project, open.

    Several processes may have the same file open, and several threads may share one `Store`:
    writes wait for each other, a search never waits for a write.
    """

    def __init__(
        self,
        path: Path,
        writer: sqlite3.Connection | None,
        reader: sqlite3.Connection,
        notices: tuple[str, ...],
    ) -> None:
        self.path = path
        self.notices = notices
        """What a person should know about the file, such as a damaged one having been set aside."""
        self._writer = writer
        self._reader = reader
        self._write_lock = threading.Lock()
        self._read_lock = threading.Lock()

    @classmethod
    def open(cls, path: Path, *, create: bool = True) -> Store:
        """Open the file, making or migrating it where needed.

        A damaged file is renamed, never deleted, and `notices` says so; a read-only one can be
        searched but not added to.

        Raises:
            StoreUnavailableError: there is no such file and `create` is false, or it cannot be
                opened.
            StoreError: SQLite refuses it for another reason.
        """
        read_only, notices = prepare(path, create=create)
        with translated(path):
            writer = None if read_only else connect(path)
            reader = connect(path, read_only=read_only)
        return cls(path, writer, reader, notices)

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; safe to call twice."""
        with self._write_lock, self._read_lock:
            self._reader.close()
            if self._writer is not None:
                self._writer.close()

    def add(  # noqa: PLR0913 - all that may be known of a source
        self,
        label: str,
        data: bytes,
        *,
        name: str | None = None,
        kind: str | None = None,
        language: str | None = None,
        media_type: str | None = None,
        origin: str = "note",
        session: str | None = None,
        path: str | None = None,
        mtime_ns: int | None = None,
        inode: int | None = None,
        ttl_s: float | None = None,
        pinned: bool = False,
    ) -> Indexed:
        """Index `data` wholly as the next version of `label`.

        An older version is superseded: kept, but no longer searched by default. `name` (such as a
        file name) and `media_type` help to tell the kind where it is not said. `ttl_s` is how many
        seconds it stays findable.

        Raises:
            ValueError: an unknown `kind`.
            StoreError: it could not be stored; nothing of it was.
        """
        detected = detect(data, name=name, media_type=media_type, kind=kind, language=language)
        document = chunk_part(data, detected)
        new = writing.NewSource(
            label=label,
            kind=detected.kind,
            language=detected.language,
            origin=origin,
            bytes_total=len(data),
            session=session,
            path=path,
            mtime_ns=mtime_ns,
            inode=inode,
            sha256=hashlib.sha256(data).digest(),
            ttl_s=ttl_s,
            pinned=pinned,
        )
        with self._writing() as db:
            source_id, version = writing.insert_source(db, new)
            writing.insert_chunks(db, source_id, document.chunks)
        return Indexed(
            source_id=source_id,
            label=label,
            version=version,
            kind=detected.kind,
            language=detected.language,
            chunks=len(document.chunks),
            bytes_indexed=len(data),
            bytes_total=len(data),
            complete=True,
            notes=document.notes,
        )

    def add_spool(  # noqa: PLR0913
        self,
        label: str,
        spool_path: Path,
        *,
        name: str | None = None,
        kind: str | None = None,
        language: str | None = None,
        media_type: str | None = None,
        origin: str = "run",
        session: str | None = None,
        ttl_s: float | None = None,
        pinned: bool = False,
        head_bytes: int = pending.HEAD_BYTES,
        tail_bytes: int = pending.TAIL_BYTES,
    ) -> Indexed:
        """Index the beginning and the end of a file now and queue the rest.

        The file belongs to the store from here on: it is deleted once it is wholly indexed.
        Call `index_pending` until the queue is empty.

        Raises:
            OSError: the file cannot be read.
            ValueError: an unknown `kind`.
            StoreError: it could not be stored; nothing of it was, and the file is left alone.
        """
        head, tail = pending.head_and_tail(spool_path, head_bytes, tail_bytes)
        detected = detect(head.data, name=name, media_type=media_type, kind=kind, language=language)
        parts = [head] if tail is None else [head, tail]
        documents = [
            chunk_part(part.data, detected, base_byte=part.start, base_line=part.line)
            for part in parts
        ]
        total = parts[-1].end
        new = writing.NewSource(
            label=label,
            kind=detected.kind,
            language=detected.language,
            origin=origin,
            bytes_total=total,
            session=session,
            ttl_s=ttl_s,
            pinned=pinned,
        )
        chunks = [chunk for document in documents for chunk in document.chunks]
        with self._writing() as db:
            source_id, version = writing.insert_source(db, new)
            writing.insert_chunks(db, source_id, chunks)
            if tail is not None:
                pending.enqueue(db, source_id, spool_path.absolute(), head, tail)
        if tail is None:
            spool_path.unlink(missing_ok=True)
        indexed = sum(len(part.data) for part in parts)
        return Indexed(
            source_id=source_id,
            label=label,
            version=version,
            kind=detected.kind,
            language=detected.language,
            chunks=len(chunks),
            bytes_indexed=indexed,
            bytes_total=total,
            complete=indexed == total,
            notes=tuple(note for document in documents for note in document.notes),
        )

    def index_pending(self, limit_bytes: int = pending.HEAD_BYTES) -> Progress:
        """Index up to about `limit_bytes` of what is queued, and say how far the queue is.

        A spool file that is gone is dropped from the queue; its source stays incomplete and says
        so.

        Raises:
            StoreError: a slice could not be stored; it stays queued.
        """
        budget = limit_bytes
        while budget > 0:
            with self._write_lock:
                queued = pending.next_queued(self._connection())
            if queued is None:
                break
            budget -= self._index_slice(queued, min(budget, pending.SLICE_BYTES))
        return self.progress()

    def _index_slice(self, queued: pending.Queued, limit: int) -> int:
        try:
            part = pending.read_slice(queued, max(limit, 2 * 4096))
        except OSError:
            with self._writing() as db:
                db.execute("DELETE FROM pending WHERE id = ?", (queued.id,))
            return limit
        try:
            source = self.source(queued.source_id)
        except UnknownSourceError:  # purged meanwhile, and its row of the queue with it
            return limit
        detected = detect(b"", kind=source.kind, language=source.language)
        document = chunk_part(part.data, detected, base_byte=part.start, base_line=part.line)
        with self._writing() as db:
            if pending.next_queued(db) != queued:  # another process was faster
                return limit
            writing.insert_chunks(db, queued.source_id, document.chunks)
            last = pending.advance(db, queued, part)
        if last:
            queued.spool.unlink(missing_ok=True)
        return len(part.data)

    def is_current(self, path: str, mtime_ns: int, size: int, inode: int) -> bool:
        """Whether the file at `path` is indexed with exactly this status."""
        with self._reading() as db:
            return files.is_current(db, path, mtime_ns, size, inode)

    def touch(self, path: str, data: bytes, mtime_ns: int, inode: int) -> bool:
        """Whether `data` is what is indexed of `path`; its new status is noted then."""
        with self._writing() as db:
            return files.touch(db, path, data, mtime_ns, inode)

    def files(self, root: Path) -> list[tuple[int, str]]:
        """Source id and path of every indexed file below `root`."""
        with self._reading() as db:
            return files.below(db, root)

    def file_label(self, path: str, wanted: str) -> str:
        """`wanted` as the label of the file at `path`, or the path where another file has it."""
        with self._reading() as db:
            return files.label(db, path, wanted)

    def forget(self, source_id: int) -> None:
        """Remove one version of one source wholly; unlike `purge`, without compacting the file."""
        with self._writing() as db:
            writing.delete_source(db, source_id)

    def progress(self, source_id: int | None = None) -> Progress:
        """Bytes indexed and total, of one source or of all that are incomplete."""
        with self._reading() as db:
            return reading.progress(db, source_id)

    def search(  # noqa: PLR0913 - the filters are the interface
        self,
        queries: Sequence[str] | str,
        *,
        limit: int = 5,
        source: str | int | None = None,
        kind: str | None = None,
        language: str | None = None,
        session: str | None = None,
        since: float | None = None,
        include_superseded: bool = False,
        budget_bytes: int | None = None,
    ) -> list[QueryResult]:
        """One result a query, best chunks first.

        `source` is a source's id or part of a label, `since` a time in seconds since the epoch.
        `budget_bytes` bounds the texts of all results together.

        Raises:
            ValueError: `limit` or `budget_bytes` is below 1.
            StoreError: the file could not be read.
        """
        if limit < 1:
            raise ValueError(f"limit must be at least 1, not {limit}")
        if budget_bytes is not None and budget_bytes < 1:
            raise ValueError(f"budget_bytes must be at least 1, not {budget_bytes}")
        filters = Filters(
            source,
            kind,
            None if language is None else canonical_language(language),
            session,
            since,
            include_superseded,
        )
        results = []
        with self._reading() as db:
            for text in [queries] if isinstance(queries, str) else queries:
                result = search(db, text, filters, limit=limit, budget_bytes=budget_bytes)
                if budget_bytes is not None:
                    budget_bytes -= sum(len(hit.text.encode()) for hit in result.hits)
                results.append(result)
        return results

    def best_chunks(self, source_id: int, intent: str, limit: int = 5) -> tuple[Hit, ...]:
        """The chunks of one source that fit `intent` best; none where nothing matches."""
        return self.search(intent, limit=limit, source=source_id, include_superseded=True)[0].hits

    def terms(self, source_id: int, limit: int = 40) -> list[str]:
        """Words that tell this source's chunks apart: what to search it for."""
        with self._reading() as db:
            return terms.distinctive(db, source_id, limit)

    def sources(self, *, include_superseded: bool = False) -> list[Source]:
        """Every source, latest first."""
        with self._reading() as db:
            return reading.sources(db, include_superseded=include_superseded)

    def source(self, source_id: int) -> Source:
        """One source.

        Raises:
            UnknownSourceError: there is none with this id.
        """
        with self._reading() as db:
            return reading.source(db, source_id)

    def text(self, source_id: int, start: int = 0, end: int | None = None) -> bytes:
        """The kept bytes [start, end) of a source, as far as they are indexed.

        Raises:
            UnknownSourceError: there is none with this id.
        """
        with self._reading() as db:
            return reading.text(db, source_id, start, end)

    def purge(  # noqa: PLR0913
        self,
        *,
        source: str | int | None = None,
        older_than_s: float | None = None,
        kind: str | None = None,
        session: str | None = None,
        superseded: bool = False,
        everything: bool = False,
        pinned: bool = False,
    ) -> Purged:
        """Forget sources for good: those that fit every filter given, and whatever has expired.

        Pinned ones stay unless `pinned`. With no filter only what has expired goes; `everything`
        says that all of it is meant. The file shrinks accordingly.

        Raises:
            StoreError: nothing was purged.
        """
        wanted = purging.Wanted(source, older_than_s, kind, session, superseded, everything, pinned)
        with self._writing() as db:
            purged = purging.purge(db, wanted)
        return self._compacted(purged)

    def evict(self, max_text_bytes: int) -> Purged:
        """Forget superseded versions, then the oldest sources, until the kept text is no larger.

        Pinned sources and those still being indexed are never touched, so that more may remain.

        Raises:
            StoreError: nothing was evicted.
        """
        with self._writing() as db:
            purged = purging.evict(db, max_text_bytes)
        return self._compacted(purged)

    def _compacted(self, purged: Purged) -> Purged:
        for spool in purged.spools:
            spool.unlink(missing_ok=True)
        if purged.sources:
            with self._write_lock, translated(self.path):
                purging.compact(self._connection())
        return purged

    def stats(self) -> Stats:
        """What the store holds and how large it is."""
        with self._reading() as db:
            return reading.stats(db, self.path)

    def checkpoint(self) -> None:
        """Move what the write-ahead log holds into the file, as far as readers allow."""
        with self._write_lock, translated(self.path):
            self._connection().execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def check(self) -> Check:
        """Verify the file, its references and both indexes against the text; takes a while."""
        with self._write_lock, translated(self.path):
            return reading.check(self._writer or self._reader, index=self._writer is not None)

    def repair(self) -> Check:
        """Rebuild the indexes from the text, and check again: heals whatever is wrong with them.

        Raises:
            StoreError: the damage is in the text's own tables.
        """
        with self._writing() as db:
            writing.rebuild_indexes(db)
        return self.check()

    def backup(self, target: Path) -> None:
        """A consistent copy at `target` while others read and write.

        Raises:
            FileExistsError: something is there already.
            StoreError: it could not be written.
        """
        if target.exists():
            raise FileExistsError(f"{target} exists: choose another place")
        with self._reading() as db, translated(target):
            copy = sqlite3.connect(target)
            try:
                db.backup(copy)
            finally:
                copy.close()

    def _connection(self) -> sqlite3.Connection:
        if self._writer is None:
            raise StoreReadOnlyError(f"{self.path}: it is read-only: make it writable")
        return self._writer

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """One consistent view of the file."""
        with self._read_lock, translated(self.path):
            self._reader.execute("BEGIN")
            try:
                yield self._reader
            finally:
                self._reader.execute("COMMIT")

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction, done wholly or not at all."""
        with self._write_lock, translated(self.path):
            db = self._connection()
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
