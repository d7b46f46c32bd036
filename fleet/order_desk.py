"""A front's desk: it accepts runs, tracks each until its end, and counts them."""

from __future__ import annotations

import secrets
import time
from collections import Counter, OrderedDict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Final

import trio
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from executor import (
    CheckedRequest,
    Completed,
    Isolation,
    Limits,
    LocalEngine,
    RequestError,
    Result,
    Status,
    Stream,
)
from executor.engine import Meter, OnOutput
from executor.project.view import EntryState, Record
from executor.run import first_line
from fleet import model
from fleet.cluster import ClusterSettings, Connection, UnreachableError
from fleet.journal import Journal, QueueFullError
from fleet.model import PROTOCOL, FormError, Order
from fleet.seal import seal_order
from fleet.snapshot import (
    ChangedError,
    KnownFile,
    SharedLooks,
    Snapshot,
    check_travels,
    find_reason_to_stay,
    make_order,
    take,
)
from fleet.tree import BlobError, Digest
from fleet.upload_filter import StaysHereError


class Stage(StrEnum):
    """The stages of a run."""

    SNAPSHOT = "snapshot"
    UPLOAD = "upload"
    TURN = "turn"
    ENGINE = "engine"
    BACK = "back"


@dataclass(slots=True)
class Figures:
    """Counts since the front started. Those of runs are by owner."""

    sent: Counter[str] = field(default_factory=Counter)
    done: Counter[str] = field(default_factory=Counter)
    lost: Counter[str] = field(default_factory=Counter)  # by an engine or a worker, however often
    duplicates: Counter[str] = field(default_factory=Counter)  # outcomes dropped as later ones
    kept_here: Counter[str] = field(default_factory=Counter)  # run here, but might have been sent
    seconds: Counter[Stage] = field(default_factory=Counter)  # by stage
    times: Counter[Stage] = field(default_factory=Counter)  # by stage
    bytes_sent: int = 0  # of blobs
    bytes_back: int = 0  # of blobs

    @contextmanager
    def measure(self, stage: Stage) -> Iterator[None]:
        """Measure the time that a block takes."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.seconds[stage] += time.monotonic() - began  # type: ignore[assignment]
            self.times[stage] += 1


@dataclass(slots=True)
class SentRun:
    """A run and its state at the front. As a `RunProgress` it can be watched and stopped, as a
    `ListedRun` be listed."""

    order: Order
    sealed: bytes
    label: str
    record: Record | None = None  # the project as it was, if changes are committed to it
    unseen: frozenset[str] = frozenset()  # paths that were not sent
    on_output: OnOutput | None = None  # gets the output when the run ends
    is_left: bool = False  # whether a dead front left it: nobody waits for it
    is_submitted: bool = False  # and the engine has not lost it
    losses: int = 0  # by the engine or a worker
    scope: trio.CancelScope = field(default_factory=trio.CancelScope)
    stopped: Status | None = None
    place: str = "waits for its turn"
    isolation: Isolation = field(default_factory=lambda: Isolation(""))
    meter: Meter | None = None
    started_at: float = field(default_factory=time.monotonic)

    @property
    def profile(self) -> str:
        """Return the name of the run's profile."""
        return self.order.profile.name

    @property
    def limits(self) -> Limits:
        """Return the limits that the worker applies."""
        return self.order.limits

    @property
    def output_bytes(self) -> int:
        """Return 0: the output arrives when the run ends."""
        return 0

    @property
    def id(self) -> str:
        """Return the run's ID, the same at the front, its engine and its worker."""
        return self.order.run_id

    @property
    def elapsed_s(self) -> float:
        """Return how long the run has taken so far, including the wait for its turn."""
        return time.monotonic() - self.started_at

    def stream(self, name: str) -> Stream:
        """Return an empty stream: the output arrives when the run ends."""
        return Stream()

    def end(self, status: Status, message: str) -> Completed:
        """End a run that has no outcome of its own."""
        end = Result(status, message=message, profile=self.profile, verdict=self.order.verdict)
        return Completed(end)

    async def stop(self, reason: Status) -> None:
        """Request the run's end; the first reason is kept."""
        self.stopped = self.stopped or reason
        self.scope.cancel()


TRIES: Final = 3
"""Limit of attempts to read a project that changes while it is read."""
SNAPSHOTS_MAX: Final = 8
CONFIRMED_S: Final = 60.0
"""Time for which a tree is assumed to be at the engine still: the engine reports a lost one."""


class Desk:
    """The desk that accepts runs of one project into a journal. Only `open_fleet` makes it."""

    def __init__(
        self,
        local: LocalEngine,
        settings: ClusterSettings,
        key: Ed25519PrivateKey,
        journal: Journal,
        connection: Connection,
    ) -> None:
        self.local = local
        self.settings = settings
        self.journal = journal
        self.connection = connection
        self.figures = Figures()
        self._key = key
        self._known: dict[EntryState, KnownFile] = {}
        self._looks = SharedLooks(self._look)
        self._snapshots: OrderedDict[Digest, Snapshot] = OrderedDict()
        self._confirmed: dict[Digest, float] = {}

    async def accept(self, judged: CheckedRequest) -> SentRun:
        """Send a run's files to where its worker finds them, and write the run into the journal.

        Raises:
            StaysHereError: the run must stay on this machine.
            RequestError: the project is too large, or changes while it is read; or too many runs of
                its owner wait.
            UnreachableError: the engine does not answer. Nothing was accepted then.
        """
        changed: Exception | None = None
        for _ in range(TRIES):
            try:
                return await self._try_to_accept(judged)
            except (ChangedError, BlobError) as error:
                changed = error
            except FormError as error:
                raise StaysHereError(str(error)) from error
        raise RequestError(
            f"the project changes while it is read: {changed}",
            "Try again when nothing writes there, or add its folder to cluster.leave_out.",
        ) from changed

    async def _try_to_accept(self, judged: CheckedRequest) -> SentRun:
        record = await self.local.commits.record(judged.profile)
        with ExitStack() as undo:
            if record is not None:
                undo.callback(record.close)
            with self.figures.measure(Stage.SNAPSHOT):
                snapshot = await self._looks.look()
                order, sealed = await trio.to_thread.run_sync(self._seal, judged, snapshot)
            await self._upload(snapshot)
            self.figures.bytes_sent += len(sealed)
            quota = self.settings.owners.get(order.owner, self.settings.usual)
            try:
                await self.journal.accept(order.run_id, order.owner, sealed, quota.queued)
            except QueueFullError as error:
                hint = "Raise queued in cluster.owners, or send fewer runs."
                raise RequestError(str(error), hint) from error
            undo.pop_all()
        label = f"{order.request.language}: {judged.script or order.request.code or ''}"
        return SentRun(order, sealed, first_line(label), record, frozenset(snapshot.left_out))

    def _seal(self, judged: CheckedRequest, snapshot: Snapshot) -> tuple[Order, bytes]:
        """Make the sealed order of a run, in a thread: large values take long."""
        settings, project = self.settings, self.local.project
        if reason := find_reason_to_stay(judged, settings):
            raise StaysHereError(reason)
        check_travels(judged, snapshot)
        run_id = secrets.token_hex(16)
        order = make_order(judged, snapshot.root, project, run_id, settings.wait_s)
        return order, seal_order(model.encode(order), self._key, PROTOCOL)

    async def _look(self) -> Snapshot:
        """Take a snapshot of the project, and keep it among the last ones."""
        snapshot = await trio.to_thread.run_sync(
            take, self.local.search, self.settings.terms, self._known
        )
        self._snapshots[snapshot.root] = snapshot
        self._snapshots.move_to_end(snapshot.root)
        while len(self._snapshots) > SNAPSHOTS_MAX:
            evicted, _ = self._snapshots.popitem(last=False)
            self._confirmed.pop(evicted, None)
        return snapshot

    async def _upload(self, snapshot: Snapshot) -> None:
        """Store an order's project at the engine."""
        root = snapshot.root
        with self.figures.measure(Stage.UPLOAD):
            engine = await self.connection.engine()
            if self._confirmed.get(root, 0.0) > trio.current_time() - CONFIRMED_S:
                return
            wanted = await engine.blobs.missing(snapshot.digests)
            await engine.blobs.put({one: partial(snapshot.read, one) for one in wanted})
            self._confirmed[root] = trio.current_time()
            self.figures.bytes_sent += sum(one.size_bytes for one in wanted)

    async def upload_again(self, run: SentRun) -> str:
        """Upload lost input of a run again; return why that is impossible, or ""."""
        root = run.order.root
        self._confirmed.pop(root, None)
        try:
            snapshot = self._snapshots.get(root) or await self._looks.look()
            if snapshot.root != root:
                return "the engine lost files of it, and the project has changed since"
            await self._upload(snapshot)
        except UnreachableError:
            return ""  # the next try checks for them again
        except (StaysHereError, RequestError, BlobError, ChangedError, OSError) as error:
            return f"the engine lost files of it, which have changed here since: {error}"
        return ""
