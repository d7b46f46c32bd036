"""The store: one SQLite file that keeps sources, their chunks and the index over them."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from kb import purging, reading, spool_queue, vocabulary, writing
from kb.access import Access, Quota, copy_to
from kb.filetypes import canonical_language
from kb.filters import Filters
from kb.model import (
    Hit,
    Indexed,
    Purged,
    QueryResult,
    Source,
    SourceSpec,
    translate_errors,
)
from kb.reading import FileState
from kb.redaction import FindSecrets
from kb.search import search

# The modules that cut documents into chunks are loaded only to add one.
if TYPE_CHECKING:
    from kb.bulk import Bulk


class Store:
    """The open store of one project.

    Several processes may have the same file open, and several threads may share one `Store`: writes
    wait for each other, a search never waits for a write.
    """

    def __init__(self, access: Access) -> None:
        self.access = access
        """The file's transactions, for the modules of this room."""

    @property
    def path(self) -> Path:
        return self.access.path

    @property
    def notices(self) -> tuple[str, ...]:
        """Return notices for the user, such as a damaged file having been set aside."""
        return self.access.notices

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        create: bool = True,
        redact: FindSecrets | None = None,
        quota: Quota | None = None,
    ) -> Store:
        """Open the file, creating or migrating it if needed.

        A damaged file is renamed, never deleted, and `notices` reports it; a read-only one can be
        searched but not added to. `redact` finds the secrets in whatever is added: they are
        replaced by their kind before anything is stored, and counted in `Source.redactions`.
        `quota` returns how much disk space it may use; `settle` enforces that.

        Raises:
            StoreUnavailableError: it is missing and `create` is false, or it cannot be opened.
            StoreError: SQLite refuses it for another reason.
        """
        return cls(Access(path, create=create, redact=redact, quota=quota))

    @classmethod
    def open_to_read(cls, path: Path, *, deadline: float) -> Store:
        """Open the file of another project, and leave it as it is. Every query ends at `deadline`,
        as `time.monotonic` counts.

        Raises:
            StoreError: it does not exist, is damaged, or another release wrote it.
        """
        return cls(Access(path, create=False, deadline=deadline))

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
        self.access.close()

    def add(self, spec: SourceSpec, data: bytes, *, wait_s: float | None = None) -> Indexed:
        """Index `data` wholly as the next version of its label. `wait_s` is how long to wait for
        other writers, if not the default.

        An older version, and anything else added in the same `series`, is superseded: stored, but
        no longer searched by default. HTML becomes Markdown and UTF-16 becomes UTF-8, unless the
        origin is a run, whose output is stored as it is.

        Raises:
            ValueError: an unknown `kind`.
            StoreError: it could not be stored, not even in part.
        """
        from kb import indexing  # noqa: PLC0415

        return indexing.add(self.access, spec, data, wait_s=wait_s)

    def add_spool(
        self,
        spec: SourceSpec,
        spool_path: Path,
        *,
        head_bytes: int = spool_queue.HEAD_BYTES,
        tail_bytes: int = spool_queue.TAIL_BYTES,
    ) -> Indexed:
        """Index the beginning and the end of a file now and queue the rest.

        The file then belongs to the store: it is deleted once it is wholly indexed. Call
        `index_pending` until the queue is empty.

        Raises:
            OSError: the file cannot be read.
            ValueError: an unknown `kind`.
            StoreError: it could not be stored, not even in part; the file is left alone.
        """
        from kb import indexing  # noqa: PLC0415

        return indexing.add_spool(self.access, spec, spool_path, head_bytes, tail_bytes)

    def bulk(self) -> Bulk:
        """Return an addition of many sources, for a `with` statement: several are prepared at once,
        in workers, and several are stored in one transaction."""
        from kb.bulk import Bulk  # noqa: PLC0415

        return Bulk(self.access)

    def index_pending(
        self,
        limit_bytes: int = spool_queue.HEAD_BYTES,
        source_id: int | None = None,
        *,
        wait_s: float | None = None,
    ) -> int:
        """Index up to about `limit_bytes` of the queue, of one source or of all, and return the
        bytes that are left. `wait_s` is as of `add`. A source whose spool file is gone stays
        incomplete.

        Raises:
            StoreError: a slice could not be stored; it stays queued.
        """
        from kb import indexing  # noqa: PLC0415

        indexing.index_queued(self.access, limit_bytes, source_id, wait_s=wait_s)
        return self.count_bytes_left(source_id)

    def settle(self, limit_bytes: int = spool_queue.HEAD_BYTES) -> bool:
        """Take one short step of the work left after additions, as `index_or_evict` does.

        Raises:
            StoreError: it could not be done; it is left to do.
        """
        from kb import indexing  # noqa: PLC0415

        return indexing.index_or_evict(self.access, limit_bytes)

    def files(self, path: Path) -> dict[str, FileState]:
        """Return every indexed file at or below `path`, by its path."""
        with self.access.reading() as db:
            return reading.below(db, path)

    def files_of(self, source_ids: Collection[int]) -> dict[int, FileState]:
        """Find the files of those sources that are the current version of one, by source."""
        with self.access.reading() as db:
            return reading.of_sources(db, source_ids)

    def find_moved_file(self, sha256: bytes, size: int) -> FileState | None:
        """Find an indexed file with this content that is no longer where it was indexed."""
        with self.access.reading() as db:
            return reading.find_moved(db, sha256, size)

    def touch(
        self, source_id: int, mtime_ns: int, inode: int, *, wait_s: float | None = None
    ) -> None:
        """Note a new status of a file whose content is still the indexed one. `wait_s` is as of
        `add`."""
        with self.access.writing(wait_s=wait_s) as db:
            reading.touch(db, source_id, mtime_ns, inode)

    def rename_file(self, source_id: int, label: str, path: str, status: os.stat_result) -> None:
        """Give the file another label and path; its chunks stay as they are."""
        with self.access.writing() as db:
            reading.rename(db, source_id, label, path, status)

    def file_label(self, path: str, wanted: str) -> str:
        """Return `wanted` as the label of the file at `path`, or the path if it is taken."""
        with self.access.reading() as db:
            return reading.label(db, path, wanted)

    def forget(self, source_id: int) -> None:
        """Remove one version of one source wholly; unlike `purge`, without compacting the file."""
        with self.access.writing() as db:
            writing.delete_source(db, source_id)

    def count_bytes_left(self, source_id: int | None = None) -> int:
        """Count the bytes that are still to be indexed, of one source or of all."""
        with self.access.reading() as db:
            return reading.count_bytes_left(db, source_id)

    def search(  # noqa: PLR0913 - the filters are the interface
        self,
        queries: Sequence[str] | str,
        *,
        limit: int = 5,
        source: str | int | tuple[int, ...] | None = None,
        kind: str | None = None,
        language: str | None = None,
        session: str | None = None,
        since: float | None = None,
        path: str | None = None,
        places: tuple[str, ...] = (),
        include_superseded: bool = False,
        budget_bytes: int | None = None,
    ) -> list[QueryResult]:
        """Return one result a query, best chunks first.

        `source` is a source's id, several, or part of a label, `path` a part of a file's path,
        `since` a time in seconds since the epoch, `places` are of `kb.filters.PLACES`.
        `budget_bytes` bounds the texts of all results together; each gets a share.

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
            path,
            places=places,
        )
        asked = [queries] if isinstance(queries, str) else queries
        results = []
        with self.access.reading() as db:
            for at, text in enumerate(asked):
                # The unused rest of one part goes to the next ones.
                part = None if budget_bytes is None else budget_bytes // (len(asked) - at)
                result = search(db, text, filters, limit=limit, budget_bytes=part)
                if budget_bytes is not None:
                    budget_bytes -= sum(len(hit.text.encode()) for hit in result.hits)
                results.append(result)
        return results

    def best_chunks(self, source_id: int, intent: str, limit: int = 5) -> tuple[Hit, ...]:
        """Return the chunks of one source that fit `intent` best; none if nothing matches."""
        return self.search(intent, limit=limit, source=source_id, include_superseded=True)[0].hits

    def terms(self, source_id: int, limit: int = 40) -> list[str]:
        """Return words that distinguish this source's chunks: what to search it for."""
        with self.access.reading() as db:
            return vocabulary.distinctive(db, source_id, limit)

    def sources(self, *, include_superseded: bool = False) -> list[Source]:
        """Return every source, latest first."""
        with self.access.reading() as db:
            return reading.sources(db, include_superseded=include_superseded)

    def list_sources(self, offset: int, limit: int) -> list[Source]:
        """Read a part of the list of current sources, the latest first."""
        with self.access.reading() as db:
            return reading.list_sources(db, offset, limit)

    def count_sources(self) -> int:
        """Count the current sources."""
        with self.access.reading() as db:
            return reading.count_sources(db)

    def source(self, source_id: int) -> Source:
        """Return one source.

        Raises:
            UnknownSourceError: no source has this id.
        """
        with self.access.reading() as db:
            return reading.source(db, source_id)

    def versions(self, label: str) -> list[int]:
        """Return the ids of all versions of a label."""
        with self.access.reading() as db:
            return reading.versions(db, label)

    def text(self, source_id: int, start: int = 0, end: int | None = None) -> bytes:
        """Return the stored bytes [start, end) of a source, up to where it is indexed.

        Raises:
            UnknownSourceError: no source has this id.
        """
        with self.access.reading() as db:
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
        """Permanently delete sources: those that fit every filter given, and all that have expired.

        Pinned ones stay unless `pinned`. Without a filter only expired ones go; `everything`
        deletes them all. The file shrinks accordingly.

        Raises:
            StoreError: nothing was purged.
        """
        with self.access.writing() as db:
            chosen = purging.choose(
                db,
                source=source,
                older_than_s=older_than_s,
                kind=kind,
                session=session,
                superseded=superseded,
                everything=everything,
                pinned=pinned,
            )
            purged = purging.purge(db, chosen)
            self.access.known_words.clear()
        return self._compact(purged)

    def _compact(self, purged: Purged) -> Purged:
        for spool in purged.spools:
            spool.unlink(missing_ok=True)
        if purged.sources:
            with self.access.exclusively() as db:
                purging.compact(db)
        return purged

    def stats(self) -> dict[str, int]:
        """Count `sources`, `superseded` ones and `chunks` of the store, its `text_bytes` and
        `file_bytes`, and the `pending_bytes` that are still to be indexed."""
        with self.access.reading() as db:
            return reading.stats(db, self.path)

    def checkpoint(self) -> None:
        """Move the content of the write-ahead log into the file, if readers allow."""
        with self.access.exclusively() as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def check(self) -> tuple[str, ...]:
        """List problems of the file, its references and both indexes; takes a while."""
        if self.access.read_only:
            with self.access.reading() as db:
                return reading.check(db, index=False)
        with self.access.exclusively() as db:
            return reading.check(db, index=True)

    def repair(self) -> tuple[str, ...]:
        """Rebuild the indexes from the text, and check again.

        Raises:
            StoreError: the damage is in the text's own tables.
        """
        with self.access.writing() as db:
            writing.rebuild_indexes(db)
        return self.check()

    def backup(self, target: Path) -> None:
        """Write a consistent copy to `target` while others read and write.

        Raises:
            FileExistsError: the target exists already.
            StoreError: it could not be written.
        """
        with self.access.reading() as db, translate_errors(target):
            copy_to(db, target)
