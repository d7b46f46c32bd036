"""A front's project, the same at a worker, and what passes between them, without an engine."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import trio

from executor.engine.engine import Completed
from executor.model import Limits, Request, Result, Status
from executor.project.commit_service import CommitService, with_commit
from executor.project.rules.names import names_after
from executor.project.store.manifest import Commit
from executor.project.view.record import Record
from executor.project.view.search import ProjectSearch
from executor.request import BUILD, Profile
from executor.run.commits import RemoteCommits
from fleet.blob_cache import BlobCache
from fleet.model import Delivery, Order
from fleet.result_files import hand_over
from fleet.result_import import Landing
from fleet.snapshot import Snapshot, take
from fleet.tree import BlobError, Digest, digest_of
from fleet.upload_filter import Terms
from policy.model import Rules
from tests.executor.project.viewing import PlainReader, View
from tests.fleet.laying_out import lay_out

RUN_ID = "run-00000001"
PIECE_BYTES = 1 << 20


class MemoryBlobs:
    """What an engine keeps, in memory; counts what was asked for."""

    def __init__(self) -> None:
        self.kept: dict[Digest, bytes] = {}
        self.fetched: list[Digest] = []

    def add(self, data: bytes) -> Digest:
        digest = digest_of(data)
        self.kept[digest] = data
        return digest

    async def missing(self, digests: Any) -> frozenset[Digest]:
        return frozenset(digests) - self.kept.keys()

    async def put(self, blobs: Any) -> None:
        for open_blob in blobs.values():
            self.add(b"".join(open_blob()))

    async def get(self, digest: Digest, write: Callable[[bytes], object]) -> None:
        self.fetched.append(digest)
        await trio.lowlevel.checkpoint()
        if digest not in self.kept:
            raise BlobError(f"{digest} is absent")
        data = self.kept[digest]
        for at in range(0, len(data), PIECE_BYTES):
            write(data[at : at + PIECE_BYTES])


@dataclass
class Ends:
    """Both ends of one run: the front's project, and a view of it at a worker."""

    project: Path
    place: Path
    profile: Profile = BUILD
    request: Request = field(default_factory=lambda: Request("shell", "true", profile="build"))
    limits: Limits = field(default_factory=Limits)
    leave_out: tuple[str, ...] = ()
    inline_bytes: int = 4096
    blobs: MemoryBlobs = field(default_factory=MemoryBlobs)

    def __post_init__(self) -> None:
        self.place.mkdir()
        self.door = CommitService(
            ProjectSearch(self.project), lambda: names_after(()), self.place / "changes"
        )
        runner = SimpleNamespace(
            door=self.door, record=self._record, through_door=self._through_door
        )
        self.commits = RemoteCommits(runner)
        self.out = self.place / "out"

    async def _record(self, _: Profile, *, whole: bool) -> Record:
        return self.door.record(whole=whole)

    async def _through_door(self, call: Callable[..., Commit]) -> Commit:
        return call(read=PlainReader.of(self.place))

    async def send(self) -> None:
        """Record the project, take its snapshot, and lay it out at the worker."""
        self.record = await self.commits.record(self.profile)
        search = ProjectSearch(self.project)
        self.snapshot: Snapshot = take(search, Terms(self.leave_out), {})
        self.blobs.add(self.snapshot.encoded)
        cache = BlobCache(self.place / "cache")
        for digest in self.snapshot.digests:
            cache.add(digest, self.snapshot.read(digest))
        there = self.place / "there"
        lay_out(self.snapshot.root, cache, there)
        self.view = View(there, self.place / "worker")
        self.view.begin()

    @property
    def order(self) -> Order:
        return Order(
            run_id=RUN_ID,
            owner="me",
            request=self.request,
            root=self.snapshot.root,
            rules=Rules(()),
            profile=self.profile,
            limits=self.limits,
            project=str(self.project),
            not_after=4e9,
        )

    def complete(self, **more: Any) -> Completed:
        """What the worker's engine gives, its changes staged."""
        done = self.view.commit(stage=True)
        result = Result(Status.OK, exit_code=0, profile="build")
        done = replace(done, changed=self.view_changes)
        return Completed(replace(with_commit(result, done, stage=True), **more))

    @property
    def view_changes(self) -> tuple[Any, ...]:
        changes = self.view.changes()
        os.close(changes.contents)
        return changes.changes

    def hand_over(self, completed: Completed) -> Delivery:
        """Have the worker write what came, and the engine keep it."""
        self.out.mkdir(exist_ok=True)
        hand_over(completed, self.order, "worker-1", self.view.store.folder, self.out)
        files = {}
        for folder, _, names in os.walk(self.out):
            for name in names:
                path = Path(folder, name)
                files[str(path.relative_to(self.out))] = self.blobs.add(path.read_bytes())
        return Delivery(files, "bot-1")

    @property
    def landing(self) -> Path:
        folder = self.place / "landing"
        folder.mkdir(exist_ok=True)
        return folder

    async def bring_back(self, delivery: Delivery) -> Completed:
        unseen = frozenset(self.snapshot.left_out)
        if self.record is None:  # what a dead front had left out is known no more
            unseen = frozenset()
        sent = delivery, self.blobs, self.order
        place = self.landing, self.inline_bytes, self.commits
        return await Landing(*sent, *place, "a run", self.record, unseen).bring_back()
