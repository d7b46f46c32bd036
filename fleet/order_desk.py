"""A front's desk: it accepts runs, knows each until its end, and counts them."""

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
    Completed,
    Isolation,
    JudgedRequest,
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
from fleet.cluster import ClusterSettings, Connection
from fleet.errors import BlobError, UnreachableError
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
from fleet.tree import Digest
from fleet.upload_filter import StaysHereError


class Stage(StrEnum):
    """The way of a run, in parts."""

    SNAPSHOT = "snapshot"
    UPLOAD = "upload"
    TURN = "turn"
    ENGINE = "engine"
    BACK = "back"


@dataclass(slots=True)
class Figures:
    """Counts since the front began. Those of runs are by owner."""

    sent: Counter[str] = field(default_factory=Counter)
    done: Counter[str] = field(default_factory=Counter)
    lost: Counter[str] = field(default_factory=Counter)  # by an engine or a worker, however often
    duplicates: Counter[str] = field(default_factory=Counter)  # outcomes dropped: another had come
    kept_here: Counter[str] = field(default_factory=Counter)  # done here, but might have been sent
    seconds: Counter[Stage] = field(default_factory=Counter)  # by stage
    times: Counter[Stage] = field(default_factory=Counter)  # how often, by stage
    bytes_sent: int = 0  # of blobs
    bytes_back: int = 0  # of blobs

    @contextmanager
    def measure(self, stage: Stage) -> Iterator[None]:
        """Count the time that a block takes."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.seconds[stage] += time.monotonic() - began  # type: ignore[assignment]
            self.times[stage] += 1


@dataclass(slots=True)
class SentRun:
    """A run, and what a front knows of it. As a `RunProgress` it can be looked at and stopped, as a
    `ListedRun` be listed."""

    order: Order
    sealed: bytes
    label: str
    record: Record | None = None  # the project as it was, where changes are brought into it
    unseen: frozenset[str] = frozenset()  # paths that did not travel
    on_output: OnOutput | None = None  # gets what it printed, at its end
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
        """The name of its profile."""
        return self.order.profile.name

    @property
    def limits(self) -> Limits:
        """Those that its worker holds it to."""
        return self.order.limits

    @property
    def output_bytes(self) -> int:
        """Nothing yet: what it prints comes at its end."""
        return 0

    @property
    def id(self) -> str:
        """The run's id, the same at the front, its engine and its worker."""
        return self.order.run_id

    @property
    def elapsed_s(self) -> float:
        """How long it takes by now, with waiting for its turn."""
        return time.monotonic() - self.started_at

    def stream(self, name: str) -> Stream:
        """Nothing: what a run elsewhere prints comes at its end."""
        return Stream()

    def end(self, status: Status, message: str) -> Completed:
        """Make its end where it has no outcome of its own."""
        end = Result(status, message=message, profile=self.profile, verdict=self.order.verdict)
        return Completed(end)

    async def stop(self, reason: Status) -> None:
        """Have it ended; the first reason stands."""
        self.stopped = self.stopped or reason
        self.scope.cancel()


TRIES: Final = 3
"""How often a project is looked at that changes whenever it is read."""
SNAPSHOTS_MAX: Final = 8
CONFIRMED_S: Final = 60.0
"""How long a tree that the engine had is taken for granted: a lost one is told by the engine."""


class Desk:
    """Accepts runs of one project into a journal. Made by `open_fleet` only."""

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

    async def accept(self, judged: JudgedRequest) -> SentRun:
        """Put a run's files where its worker finds them, and it into the journal.

        Raises:
            StaysHereError: it can't travel.
            RequestError: the project is too large, or changes whenever it is read; or too many runs
                of its owner wait.
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
            f"the project changes whenever it is read: {changed}",
            "try again when nothing writes there, or name its folder in cluster.leave_out",
        ) from changed

    async def _try_to_accept(self, judged: JudgedRequest) -> SentRun:
        record = await self.local.commits.record(judged.checked.profile)
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
                hint = "raise cluster.owners' queued, or send less"
                raise RequestError(str(error), hint) from error
            undo.pop_all()
        label = f"{order.request.language}: {judged.checked.script or order.request.code or ''}"
        return SentRun(order, sealed, first_line(label), record, frozenset(snapshot.left_out))

    def _seal(self, judged: JudgedRequest, snapshot: Snapshot) -> tuple[Order, bytes]:
        """Make the sealed order of a run, in a thread: it takes as long as its values are."""
        settings, project = self.settings, self.local.project
        if reason := find_reason_to_stay(judged, settings):
            raise StaysHereError(reason)
        check_travels(judged, snapshot)
        run_id = secrets.token_hex(16)
        order = make_order(judged, snapshot.tree.root, project, run_id, settings.wait_s)
        return order, seal_order(model.encode(order), self._key, PROTOCOL)

    async def _look(self) -> Snapshot:
        """Take a snapshot of the project, and remember it among the last."""
        snapshot = await trio.to_thread.run_sync(
            take, self.local.search, self.settings.terms, self._known
        )
        self._snapshots[snapshot.tree.root] = snapshot
        self._snapshots.move_to_end(snapshot.tree.root)
        while len(self._snapshots) > SNAPSHOTS_MAX:
            evicted, _ = self._snapshots.popitem(last=False)
            self._confirmed.pop(evicted, None)
        return snapshot

    async def _upload(self, snapshot: Snapshot) -> None:
        """Have the engine keep an order's project."""
        root = snapshot.tree.root
        with self.figures.measure(Stage.UPLOAD):
            engine = await self.connection.engine()
            if self._confirmed.get(root, 0.0) > trio.current_time() - CONFIRMED_S:
                return
            wanted = await engine.blobs.missing(snapshot.digests)
            await engine.blobs.put({one: partial(snapshot.read, one) for one in wanted})
            self._confirmed[root] = trio.current_time()
            self.figures.bytes_sent += sum(one.size_bytes for one in wanted)

    async def upload_again(self, run: SentRun) -> str:
        """Give the engine what it lost of a run's input; why that can't be, or nothing."""
        root = run.order.root
        self._confirmed.pop(root, None)
        try:
            snapshot = self._snapshots.get(root) or await self._looks.look()
            if snapshot.tree.root != root:
                return "the engine lost files of it, and the project is another one by now"
            await self._upload(snapshot)
        except UnreachableError:
            return ""  # the next try asks for them again
        except (StaysHereError, RequestError, BlobError, ChangedError, OSError) as error:
            return f"the engine lost files of it, which are others here by now: {error}"
        return ""
