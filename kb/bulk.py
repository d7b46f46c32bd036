"""Many sources at once: prepared in workers while others are stored, several to a transaction."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType

from kb import eviction, indexing
from kb.access import Access
from kb.model import Indexed, SourceSpec
from kb.workers import WORKERS

TRANSACTION_BYTES = 1024 * 1024
"""The amount stored at a time: other writers wait for no more than that."""

TRANSACTION_SOURCES = 400

EVICTION_STEP_BYTES = 64 * 1024
"""After each such amount stored, one step towards the quota is taken, so as much goes as comes."""

INLINE_BYTES = 128 * 1024
"""Up to this much is prepared in this process before workers are used: a few changed files are done
sooner than a worker has started."""

AHEAD_BYTES = 8 * 1024 * 1024
"""The limit on what is being prepared or waits to be stored in order: preparation continues while a
worker handles a large source. In memory it is some three times as much."""

AHEAD_BATCHES = 32
"""The limit on such batches."""

BATCH_BYTES = 256 * 1024
"""The amount prepared together: a worker takes a twentieth of a second for it, and a request costs
the same for one small source as for all of these."""

BATCH_SOURCES = 128


class Bulk:
    """An addition of many sources; `indexed` are those that are stored, in the order of addition.

    Leaving its context stores the rest; leaving it by an exception discards the rest.
    """

    def __init__(self, access: Access) -> None:
        self.indexed: list[Indexed] = []
        self.bytes_indexed = 0
        self._access = access
        self._inline = 0
        self._threads: ThreadPoolExecutor | None = None
        self._batch: list[tuple[SourceSpec, bytes]] = []
        self._batch_bytes = 0
        self._coming: deque[tuple[int, Future[list[indexing.Prepared]]]] = deque()
        self._ahead = 0
        """Bytes of the sources that are coming."""
        self._ready: list[indexing.Prepared] = []
        self._ready_bytes = 0

    def __enter__(self) -> Bulk:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if exc_type is None:
                self._send_batch()
                while self._coming:
                    self._take_next()
                self._store()
        finally:
            if self._threads is not None:
                self._threads.shutdown(cancel_futures=True)

    def add(self, spec: SourceSpec, data: bytes) -> None:
        """Add one source. It is stored some time before the context is left, after earlier ones.

        Raises:
            ValueError: an unknown `kind`, of this source or of an earlier one.
            StoreError: an earlier source could not be stored.
        """
        if self._inline <= INLINE_BYTES:
            self._inline += len(data)
            self._take(indexing.prepare(self._access, spec, data))
            return
        self._batch.append((spec, data))
        self._batch_bytes += len(data)
        if self._batch_bytes >= BATCH_BYTES or len(self._batch) >= BATCH_SOURCES:
            self._send_batch()
        while self._coming and (self._far_ahead or self._coming[0][1].done()):
            self._take_next()

    def _send_batch(self) -> None:
        if not self._batch:
            return
        if self._threads is None:
            self._threads = ThreadPoolExecutor(WORKERS, "bulk")
        future = self._threads.submit(indexing.prepare_all, self._access, self._batch)
        self._coming.append((self._batch_bytes, future))
        self._ahead += self._batch_bytes
        self._batch = []
        self._batch_bytes = 0

    @property
    def _far_ahead(self) -> bool:
        return self._ahead > AHEAD_BYTES or len(self._coming) > AHEAD_BATCHES

    def _take_next(self) -> None:
        size, future = self._coming.popleft()
        self._ahead -= size
        for prepared in future.result():
            self._take(prepared)

    def _take(self, prepared: indexing.Prepared) -> None:
        self._ready.append(prepared)
        self._ready_bytes += prepared[1].bytes_total
        if self._ready_bytes >= TRANSACTION_BYTES or len(self._ready) >= TRANSACTION_SOURCES:
            self._store()

    def _store(self) -> None:
        if not self._ready:
            return
        size = self._ready_bytes
        eviction.admit(self._access, size)
        with self._access.writing() as db:
            stored = indexing.store(self._access, db, self._ready)
        self._ready.clear()
        self._ready_bytes = 0
        self.indexed += stored
        self.bytes_indexed += sum(indexed.bytes_indexed for indexed in stored)
        for _ in range(1 + size // EVICTION_STEP_BYTES):
            if not eviction.step(self._access):
                break
