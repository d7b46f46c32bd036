"""An engine of this process: it keeps blobs in memory, and has a worker do what it is given."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import trio

from fleet.blob_cache import BlobCache
from fleet.dispatcher import Delivery, Open, Placement
from fleet.doer import ORDER_FILE, Doer
from fleet.errors import BlobError, UnreachableError
from fleet.model import Cause, Lost, Ticket
from fleet.tree import Digest, Folder, digest_of


@dataclass
class MemoryEngine:
    """`losses` are told, one after the other, instead of what a run gave. `is_silent` is an engine
    that does not answer."""

    folder: Path
    doer: Doer | None = None
    losses: list[Cause] = field(default_factory=list)
    is_silent: bool = False
    kept: dict[Digest, bytes] = field(default_factory=dict)
    placed: dict[str, Placement] = field(default_factory=dict)
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
            with opens() as content:
                data = content.read()
            if digest_of(data) != digest:
                raise BlobError("another content")
            self.kept[digest] = data

    async def get(self, digest: Digest, write: Callable[[bytes], object]) -> None:
        self._answer()
        if digest not in self.kept:
            raise BlobError(f"{digest} is not there")
        write(self.kept[digest])

    async def submit(self, placement: Placement) -> Ticket | Lost:
        self._answer()
        self.submitted.append(placement.run_id)
        self.kept.update(placement.own)
        if not self._is_whole(placement.root):
            return Lost(placement.run_id, Cause.BLOB, "gone")
        self.placed[placement.run_id] = placement
        return Ticket(placement.run_id, "memory", placement.run_id, placement.order)

    def _is_whole(self, root: Digest) -> bool:
        if root not in self.kept:
            return False
        folder = Folder.decode(self.kept[root])
        has_files = all(file.digest in self.kept for file in folder.files)
        return has_files and all(self._is_whole(below.digest) for below in folder.folders)

    async def wait(self, ticket: Ticket) -> Delivery | Lost:
        self._answer()
        if self.losses:
            return Lost(ticket.run_id, self.losses.pop(0), "as the test says", "w1")
        if ticket.name not in self.placed:
            return Lost(ticket.run_id, Cause.ENGINE, "no such run")
        if self.doer is None:
            await trio.sleep_forever()
        self.folder.mkdir(exist_ok=True)
        out = Path(tempfile.mkdtemp(dir=self.folder))
        await self.doer.do(self._sealed(self.placed[ticket.name]), self._fetch, out)
        files = {str(p.relative_to(out)): p.read_bytes() for p in out.rglob("*") if p.is_file()}
        given = self.lies(files) if self.lies else files
        named = {path: digest_of(data) for path, data in given.items()}
        self.kept.update({named[path]: data for path, data in given.items()})
        return Delivery(named, "w1")

    async def find_delay(self, ticket: Ticket) -> str:
        self._answer()
        return self.delay

    async def cancel(self, ticket: Ticket) -> None:
        self.cancelled.append(ticket.run_id)

    def _sealed(self, placement: Placement) -> bytes:
        root = Folder.decode(self.kept[placement.root])
        order = next(node for node in root.files if node.name == ORDER_FILE)
        return self.kept[order.digest]

    async def _fetch(self, wanted: frozenset[Digest], cache: BlobCache) -> None:
        for digest in wanted:
            if digest not in self.kept:
                raise BlobError(f"{digest} is gone")
            cache.add(digest, [self.kept[digest]])
