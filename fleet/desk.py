"""A front's desk: what it accepts, what it has under way, and what dead fronts left to it."""

from __future__ import annotations

import logging
import secrets
from collections import OrderedDict
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import trio

from executor.engine.engine import Completed, OnOutput
from executor.errors import RequestError
from executor.project.view.record import Record
from executor.run.job import first_line
from executor.terms import JudgedRequest
from fleet import forms
from fleet.bringing_back import Landing, bring_back
from fleet.errors import BlobError
from fleet.figures import Figures, Stage
from fleet.file_reading import KnownFile
from fleet.forms import FormError
from fleet.journal import Accepted, JournalError, QueueFullError, Received
from fleet.model import PROTOCOL, Cause, Delivery, Lost, Order
from fleet.packing import (
    check_travels,
    find_reason_to_stay,
    make_order,
)
from fleet.seal import seal_order
from fleet.sending import Parts, Sending
from fleet.sent_run import SentRun
from fleet.snapshot import ChangedError, SharedLooks, Snapshot, take
from fleet.travel import FileState, StaysHereError
from fleet.tree import Digest

if TYPE_CHECKING:
    from fleet.dask.client import DaskRuns

log = logging.getLogger(__name__)

_PIECE_BYTES: Final = 256 * 1024

TRIES: Final = 3
"""How often a project is looked at that changes whenever it is read."""
SNAPSHOTS_MAX: Final = 8
CONFIRMED_S: Final = 60.0
"""How long a tree that the engine had is taken for granted: a lost one is told by the engine."""


class Desk:
    """Accepts runs, follows them to their ends, and keeps the books. Made by `open_fleet` only."""

    def __init__(self, parts: Parts) -> None:
        self.settings = parts.settings
        self.line = parts.line
        self.figures = Figures()
        self._parts = parts
        self._local = parts.local
        self._journal = parts.journal
        self._sending = Sending(parts, self.figures, self._receive, self._find_snapshot)
        self._known: dict[FileState, KnownFile] = {}
        self._looks = SharedLooks(self._look)
        self._snapshots: OrderedDict[Digest, Snapshot] = OrderedDict()
        self._confirmed: dict[Digest, float] = {}
        self._outputs: dict[str, OnOutput] = {}
        self._landings: set[Path] = set()

    async def accept(self, judged: JudgedRequest) -> SentRun:
        """Put a run's files where its worker finds them, and it into the journal.

        Raises:
            StaysHereError: it can't travel.
            RequestError: the project is too large, or changes whenever it is read; or too many runs
                of its owner wait.
            UnreachableError: the engine does not answer. Nothing was accepted then.
        """
        run_id = secrets.token_hex(16)
        for attempt in range(TRIES):
            try:
                return await self._try_to_accept(judged, run_id)
            except (ChangedError, BlobError) as error:
                if attempt == TRIES - 1:
                    raise RequestError(
                        f"the project changes whenever it is read: {error}",
                        "try again when nothing writes there, or name its folder in "
                        "cluster.leave_out",
                    ) from error
            except FormError as error:
                raise StaysHereError(str(error)) from error
        raise AssertionError("the last attempt returns or raises")

    async def _try_to_accept(self, judged: JudgedRequest, run_id: str) -> SentRun:
        profile = judged.checked.profile
        record = await self._local.commits.record(profile)
        try:
            return await self._accept(judged, run_id, record)
        except BaseException:
            if record is not None:
                record.close()
            raise

    async def _accept(self, judged: JudgedRequest, run_id: str, record: Record | None) -> SentRun:
        with self.figures.measure(Stage.SNAPSHOT):
            snapshot = await self._looks.look()
            order, sealed = await trio.to_thread.run_sync(self._seal, judged, run_id, snapshot)
        await self._upload(snapshot)
        self.figures.bytes_sent += len(sealed)
        quota = self.line.turns.quota(order.owner)
        try:
            await self._journal.accept(
                Accepted(order.run_id, order.owner, sealed, order.not_after), quota.queued
            )
        except QueueFullError as error:
            raise RequestError(str(error), "raise cluster.owners' queued, or send less") from error
        except trio.Cancelled:
            with trio.CancelScope(shield=True):  # it may have been accepted, and nobody knows
                lost = Lost(run_id, Cause.CANCELLED)
                await self._journal.finish(run_id, forms.encode(lost))
            raise
        label = f"{order.request.language}: {judged.checked.script or order.request.code or ''}"
        return SentRun(order, sealed, first_line(label), record, snapshot.unseen)

    def _seal(self, judged: JudgedRequest, run_id: str, snapshot: Snapshot) -> tuple[Order, bytes]:
        """Make the sealed order of a run, in a thread: it takes as long as its values are."""
        settings, project = self.settings, self._local.project
        if reason := find_reason_to_stay(judged, settings):
            raise StaysHereError(reason)
        check_travels(judged, snapshot)
        order = make_order(judged, snapshot.tree.root, project, run_id, settings.wait_s)
        return order, seal_order(forms.encode(order), self._parts.key, PROTOCOL)

    async def _look(self) -> Snapshot:
        """Take a snapshot of the project; one that is as before is the one before."""
        snapshot = await trio.to_thread.run_sync(
            take, self._local.search, self.settings.terms, self._known
        )
        snapshot = self._snapshots.setdefault(snapshot.tree.root, snapshot)
        self._snapshots.move_to_end(snapshot.tree.root)
        while len(self._snapshots) > SNAPSHOTS_MAX:
            evicted, _ = self._snapshots.popitem(last=False)
            self._confirmed.pop(evicted, None)
        return snapshot

    async def _upload(self, snapshot: Snapshot) -> None:
        """Have the engine keep an order's project."""
        root = snapshot.tree.root
        with self.figures.measure(Stage.UPLOAD):
            engine = await self._parts.connection.engine()
            if self._confirmed.get(root, 0.0) > trio.current_time() - CONFIRMED_S:
                return
            wanted = await engine.blobs.missing(snapshot.digests)
            await engine.blobs.put(snapshot.open_blobs(wanted))
            self._confirmed[root] = trio.current_time()
            self.figures.bytes_sent += sum(one.size_bytes for one in wanted)

    async def bring_to_end(self, run: SentRun, on_output: OnOutput | None = None) -> Completed:
        """Follow a run to its end; see `Sending.bring_to_end`."""
        if on_output:
            self._outputs[run.id] = on_output
        try:
            return await self._sending.bring_to_end(run)
        finally:
            self._outputs.pop(run.id, None)

    async def _receive(self, run: SentRun, engine: DaskRuns, found: Delivery) -> Completed:
        """Make a result of what a worker handed back, and bring in what it changed."""
        folder = self._make_landing()
        landing = Landing(
            folder,
            self._local.inline_bytes,
            self._local.commits,
            run.label,
            run.record,
            run.unseen,
        )
        completed = await bring_back(found, engine.blobs, run.order, landing)
        run.record = None  # closed with the commit
        self.figures.bytes_back += sum(one.size_bytes for one in found.files.values())
        result = completed.result
        output = self._outputs.get(run.id)
        if output:
            await _tell_output(completed, output)
        named = replace(result, worker=result.worker or found.worker, verdict=run.order.verdict)
        return replace(completed, result=named)

    def _make_landing(self) -> Path:
        """A new folder for what comes back, once those are gone from which all was taken."""
        for folder in tuple(self._landings):
            with suppress(OSError):
                folder.rmdir()
                self._landings.discard(folder)
        folder = self._local.spools / f"fleet-{secrets.token_hex(8)}"
        folder.mkdir(mode=0o700)
        self._landings.add(folder)
        return folder

    async def _find_snapshot(self, run: SentRun) -> Snapshot | None:
        """Find the snapshot of a run's project; None if the project is another one by now."""
        snapshot = self._snapshots.get(run.order.root)
        if snapshot is None:
            with suppress(StaysHereError, RequestError, OSError):
                snapshot = await self._looks.look()
        self._confirmed.pop(run.order.root, None)
        return snapshot if snapshot and snapshot.tree.root == run.order.root else None

    async def close(self, run: SentRun, completed: Completed | None, lost: Lost) -> None:
        """Note a run's end, whatever ends it, and give its place to the next."""
        cpu_s = completed.result.usage.cpu_s if completed else 0.0
        owner = run.order.owner
        with trio.CancelScope(shield=True):
            self.line.leave(run, cpu_s)
            if run.record is not None:
                run.record.close()
            end = forms.encode(completed.result if completed else lost)
            try:
                received = await self._journal.finish(run.id, end, cpu_s)
            except JournalError as error:  # the next front may do it again: an outcome stays one
                log.warning("the end of run %s is not noted: %s", run.id, error)
                return
        self.figures.done[owner] += received is Received.FIRST
        self.figures.duplicates[owner] += received is Received.SECOND


async def _tell_output(completed: Completed, on_output: OnOutput) -> None:
    """Tell the whole of both streams, stdout first: in which order they came is not known.

    Raises:
        OSError: a spool can't be read.
    """
    streams = (
        ("stdout", completed.result.stdout, completed.stdout_spool),
        ("stderr", completed.result.stderr, completed.stderr_spool),
    )
    for name, stream, spool in streams:
        data = stream.head.encode()
        if spool is not None:
            data = await trio.to_thread.run_sync(spool.read)
        for at in range(0, len(data), _PIECE_BYTES):
            on_output(name, data[at : at + _PIECE_BYTES])
