"""An engine of this process: it keeps blobs in memory, and has a worker do what it is given."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import trio

from fleet import model
from fleet.blob_cache import BlobCache
from fleet.cluster import UnreachableError
from fleet.model import Cause, Delivery, Lost, Open, Order
from fleet.tree import BlobError, Digest, digest_of, read_tree


@dataclass
class MemoryEngine:
    """`losses` are told, one after the other, instead of what a run gave. `is_silent` is an engine
    that does not answer."""

    folder: Path
    doer: Any = None
    losses: list[Cause] = field(default_factory=list)
    is_silent: bool = False
    kept: dict[Digest, bytes] = field(default_factory=dict)
    placed: dict[str, bytes] = field(default_factory=dict)
    submitted: list[str] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    asked_in_vain: int = 0
    delay: str = ""
    changes: int = 0  # how often files are others when they are read
    lies: Callable[[dict[str, bytes]], Mapping[str, bytes]] | None = None

    @property
    def blobs(self) -> MemoryEngine:
        return self

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[MemoryEngine]:
        self._answer()
        yield self

    def _answer(self) -> None:
        if self.is_silent:
            self.asked_in_vain += 1
            raise UnreachableError("nobody is there")

    async def missing(self, digests: Iterable[Digest]) -> frozenset[Digest]:
        self._answer()
        return frozenset(one for one in digests if one not in self.kept)

    async def put(self, blobs: Mapping[Digest, Open]) -> None:
        self._answer()
        if self.changes and len(blobs) > 1:  # of a project
            self.changes -= 1
            raise BlobError("another content by now")
        for digest, opens in blobs.items():
            data = b"".join(opens())
            if digest_of(data) != digest:
                raise BlobError("another content")
            self.kept[digest] = data

    async def get(self, digest: Digest, write: Callable[[bytes], object]) -> None:
        self._answer()
        if digest not in self.kept:
            raise BlobError(f"{digest} is not there")
        write(self.kept[digest])

    async def submit(
        self, run_id: str, sealed: bytes, needs: Iterable[str], timeout_s: float
    ) -> None:
        self._answer()
        self.submitted.append(run_id)
        self.placed[run_id] = sealed

    def _is_whole(self, root: Digest) -> bool:
        if root not in self.kept:
            return False
        entries = read_tree(self.kept[root]).values()
        return all(one.digest in self.kept for one in entries if one.digest is not None)

    async def wait(self, run_id: str) -> Delivery | Lost:
        self._answer()
        if self.losses:
            return Lost(run_id, self.losses.pop(0), "as the test says", "w1")
        if run_id not in self.placed:
            return Lost(run_id, Cause.ENGINE, "no such run")
        sealed = self.placed[run_id]
        if not self._is_whole(model.decode(Order, sealed.partition(b"\n")[2]).root):
            return Lost(run_id, Cause.BLOB, "gone")
        if self.doer is None:
            await trio.sleep_forever()
        self.folder.mkdir(exist_ok=True)
        out = Path(tempfile.mkdtemp(dir=self.folder))
        await self.doer.do(sealed, self._fetch, out)
        files = {str(p.relative_to(out)): p.read_bytes() for p in out.rglob("*") if p.is_file()}
        given = self.lies(files) if self.lies else files
        named = {path: digest_of(data) for path, data in given.items()}
        self.kept.update({named[path]: data for path, data in given.items()})
        return Delivery(named, "w1")

    async def find_delay(self, run_id: str) -> str:
        self._answer()
        return self.delay

    async def cancel(self, run_id: str) -> None:
        self.cancelled.append(run_id)

    async def _fetch(self, wanted: frozenset[Digest], cache: BlobCache) -> None:
        for digest in wanted:
            if digest not in self.kept:
                raise BlobError(f"{digest} is gone")
            cache.add(digest, [self.kept[digest]])
