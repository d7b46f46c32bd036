"""A worker: it runs sealed orders and returns their files.

An order is run only if a served front sealed it. It is judged again, by the front's rules and the
operator's, and run in a slot. Up to `at_once` runs are active.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import trio

from executor import Caller, Completed, PackagesError, ProjectAccess, RequestError, Result, Status
from executor.instance import remove
from executor.project import ChangeStore, UnknownChangesError
from fleet import model
from fleet.blob_cache import BlobCache, find_missing, make_own
from fleet.cluster import single_error
from fleet.model import PROTOCOL, Order
from fleet.result_files import hand_over
from fleet.seal import load_served_keys, open_order
from fleet.slot import (
    ENTERED,
    Slot,
    WorkerTerms,
    claim_place,
    consent_by,
    join,
    load_operator_rules,
    open_slot,
    relocate,
)
from fleet.tree import Digest, TreeError
from policy import Rules

Fetch = Callable[[frozenset[Digest], BlobCache], Awaitable[None]]
"""Fetches blobs of a project into a worker's cache. It raises `BlobError` if one is missing, and
`UnreachableError`."""
TRIMMED_EVERY_BYTES = 1 << 28


def read_order(sealed: bytes, keys: Path) -> Order:
    """Return the order under a seal that a front in the list `keys` made, if it has not expired.

    Raises:
        SealError: it must not be run.
        KeyFileError: the list cannot be used.
    """
    served = load_served_keys(keys)
    return open_order(sealed, served, PROTOCOL, time.time(), partial(model.decode, Order))


class Worker:
    """A worker that does orders. Only `open_worker` makes it."""

    def __init__(self, terms: WorkerTerms, cache: BlobCache) -> None:
        """Start without slots."""
        self._terms = terms
        self._cache = cache
        self._idle: list[Slot] = []
        self._free = trio.Semaphore(0)
        self._added_bytes = TRIMMED_EVERY_BYTES  # files from before count
        self.tier = ""
        """Tier of its slots, once one was opened."""

    async def list_offers(self) -> tuple[str, ...]:
        """List what orders may require: its protocol, its tier, the languages that run here."""
        async with self._lease(None) as slot:
            languages = await slot.engine.languages()
        runnable = (name for name, report in languages.items() if report.runnable)
        return (
            f"context-mode={PROTOCOL}",
            f"tier={self.tier}",
            *(f"language={name}" for name in runnable),
        )

    async def do(self, sealed: bytes, fetch: Fetch, out: Path) -> None:
        """Do an order, and write its files into the empty folder `out`.

        Cancelling ends the run. The outcome reports it if an order cannot be run as requested.

        Raises:
            SealError: no front that this worker serves has sealed it; nothing was run.
            KeyFileError, policy.RuleFileError: the operator's own files cannot be used.
            BlobError, UnreachableError: the project cannot be fetched.
            SandboxUnavailableError: a slot cannot be used any more; another is opened instead.
            OSError: the disk is full.
        """
        order = await trio.to_thread.run_sync(read_order, sealed, self._terms.keys)
        with trio.move_on_after(max(0.0, order.not_after - time.time())) as in_time:
            await self._do(order, fetch, out)
        if in_time.cancelled_caught:
            late = Result(Status.CANCELLED, message="it did not end in time")
            await self._hand_over(Completed(late), order, out)

    async def _do(self, order: Order, fetch: Fetch, out: Path) -> None:
        try:
            async with self._lease(order.root) as slot:
                if slot.root != order.root:
                    await self._fetch(order.root, fetch)
                operator = await trio.to_thread.run_sync(self._prepare, order, slot)
                try:
                    completed = await self._run(order, slot, operator)
                except Exception:  # not because of the order
                    slot.is_broken = True
                    raise
                slot.is_broken = completed.result.status is Status.SANDBOX_ERROR
                await self._hand_over(completed, order, out)
        except TreeError as error:
            await self._hand_over(_refused(order, f"its project: {error}"), order, out)

    async def _fetch(self, root: Digest, fetch: Fetch) -> None:
        """Fetch all blobs of a tree into the cache: its list, then the files. Trim the cache."""
        for _ in range(2):
            missing = await trio.to_thread.run_sync(find_missing, root, self._cache)
            await fetch(missing, self._cache)
            self._added_bytes += sum(one.size_bytes for one in missing)
        if self._added_bytes >= TRIMMED_EVERY_BYTES:
            self._added_bytes = 0
            await trio.to_thread.run_sync(self._cache.trim)

    def _prepare(self, order: Order, slot: Slot) -> Rules:
        """Lay out an order's project in a slot; return the operator's current rules."""
        slot.bring_to(order.root, self._cache)
        return load_operator_rules(self._terms.rules, slot.project, self._terms.home)

    async def _run(self, order: Order, slot: Slot, operator: Rules) -> Completed:
        """Judge and run an order in a slot that has its project."""
        rules = join(relocate(order.rules, order.project, str(slot.project)), operator)
        # The request has the values: names alone would pass the worker's own.
        profile = replace(order.profile, env=())
        keeps = order.request.stage or profile.project is ProjectAccess.COMMIT
        request = replace(
            order.request,
            stage=keeps,  # so that nothing is written into the slot
            limits=order.request.limits or order.limits,
            background=False,
        )
        caller = Caller(consent=consent_by(order.verdict, operator))
        try:
            return await slot.engine.under(rules, profile).run(request, caller=caller)
        except (RequestError, PackagesError) as error:
            hint = f". {error.hint}" if error.hint else ""
            return _refused(order, f"{error.message}{hint}")

    async def _hand_over(self, completed: Completed, order: Order, out: Path) -> None:
        """Write the files of the answer, and delete the rest, even if nobody waits any more."""
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(self._write, completed, order, out)

    def _write(self, completed: Completed, order: Order, out: Path) -> None:
        changes = self._terms.state_dir / "changes"
        kept = completed.result.changes_id
        try:
            hand_over(completed, order, self._terms.name, changes, out)
        finally:
            completed.delete_spools()
            for artifact in completed.result.artifacts:
                if artifact.path is not None:
                    remove(Path(artifact.path).parent)
            if kept:
                with contextlib.suppress(UnknownChangesError):
                    ChangeStore(changes).drop(kept)

    @contextlib.asynccontextmanager
    async def _lease(self, root: Digest | None) -> AsyncIterator[Slot]:
        """Lease a slot: one that has this tree, else the one used longest ago."""
        await self._free.acquire()
        slot = min(self._idle, key=lambda one: (one.root != root, one.used_at))
        self._idle.remove(slot)
        try:
            yield slot
        finally:
            slot.used_at = trio.current_time()
            if slot.is_broken:
                slot.is_done.set()  # another is opened instead
            else:
                self._add(slot)

    def _add(self, slot: Slot) -> None:
        self._idle.append(slot)
        self._free.release()

    async def keep_slot(
        self, place: Path, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Keep a slot at a place, reopened whenever its project cannot be laid out."""
        while True:
            async with open_slot(place, self._terms, self._cache) as slot:
                self.tier = slot.engine.isolation.tier
                self._add(slot)
                task_status.started()
                task_status = trio.TASK_STATUS_IGNORED
                await slot.is_done.wait()


@contextlib.asynccontextmanager
async def open_worker(terms: WorkerTerms) -> AsyncIterator[Worker]:
    """Open a worker that takes orders; at the end, stop every run and remove its slots.

    Raises:
        SandboxUnavailableError: no tier works here, so it takes no orders.
        KeyFileError, policy.RuleFileError: the operator's own files cannot be used.
        OSError: the folder cannot be written.
    """
    cache = await trio.to_thread.run_sync(_open_cache, terms)
    with contextlib.ExitStack() as stack:
        slots = terms.folder / "slots"
        places = [stack.enter_context(claim_place(slots)) for _ in range(terms.at_once)]
        worker = Worker(terms, cache)
        with single_error():
            async with trio.open_nursery() as nursery:
                await nursery.start(worker.keep_slot, places[0])
                for place in places[1:]:
                    nursery.start_soon(worker.keep_slot, place)
                yield worker
                nursery.cancel_scope.cancel()


def _open_cache(terms: WorkerTerms) -> BlobCache:
    """Make the worker's folder, and check that the operator's files can be used."""
    load_served_keys(terms.keys)
    load_operator_rules(terms.rules, terms.folder, terms.home)
    make_own(terms.folder, ENTERED)
    terms.state_dir.mkdir(mode=0o700, exist_ok=True)
    return BlobCache(terms.folder / "blobs")


def _refused(order: Order, message: str) -> Completed:
    """Return the outcome of an order that cannot be run as requested."""
    result = Result(Status.SANDBOX_UNAVAILABLE, message=message, profile=order.request.profile)
    return Completed(result)
