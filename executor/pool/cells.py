"""Leases of cells to runs: a prewarmed one if there is one for this run, else a new one."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import AsyncIterator, Callable, Hashable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from base.locks import is_held
from executor.cells import cgroup
from executor.cells.cell import Cell
from executor.cells.description import CellMaker, CellParts, dispose, pack_cell
from executor.cells.placement import Placement
from executor.engine.box import Layout
from executor.model import Limits, SandboxError
from executor.pool.pool import Pool
from executor.pool.prewarming import CellPurpose, Prewarmer, describe_purpose

if TYPE_CHECKING:
    from executor.engine.box import Order
    from executor.instance.control import PrewarmReport


@dataclass(frozen=True, slots=True)
class SharedBudget:
    """One server's share. Its claim is in a file next to its lock (see `instance`)."""

    folder: Path
    instance: str
    bytes_max: int

    def claim(self, own: int) -> bool:
        """Note that this server wants `own` bytes in all from now on; False if that is too much.

        Less than before is never too much.

        Raises:
            OSError: the folder can't be written.
        """
        mine = self.folder / f"{self.instance}.prewarm"
        # The folder itself is the lock, which is held while claims are added up.
        lock = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if own > self._read_claim(mine):
                others = (file for file in self.folder.glob("*.prewarm") if file != mine)
                if own + sum(map(self._read_claim, others)) > self.bytes_max:
                    return False
            mine.write_text(str(own))
            return True
        finally:
            os.close(lock)

    def _read_claim(self, file: Path) -> int:
        """Return the claim of a living server; dead servers claim nothing."""
        try:
            if file.stem != self.instance and not is_held(file.with_suffix(".lock")):
                return 0
            return int(file.read_text())
        except (OSError, ValueError):
            return 0


class StartedCell:
    """A process that may become any cell. Each is taken once, and then the next is started.

    In version 1 of control groups moving a process costs up to two grace periods of RCU, about 10
    ms on an idle machine. Only version 2 can start a process in a group.
    """

    def __init__(self, maker: CellMaker, dispose: Callable[[CellParts], None]) -> None:
        self._maker = maker
        self._dispose = dispose
        self._idle: CellParts | None = None
        self._requested = trio.Event()
        self._coming: trio.Event | None = None

    async def take(self) -> CellParts:
        """Take the idle one; else the one that is being started, or a new one.

        Raises:
            SandboxError, OSError: it could not be started.
        """
        coming, self._coming = self._coming, None  # nobody else waits for it
        if coming is not None:
            await coming.wait()
        parts, self._idle = self._idle, None
        if parts is not None and parts.cell is not None and parts.cell.is_alive():
            return parts
        if parts is not None:
            self._dispose(parts)
        return await self._start()

    def request(self) -> None:
        """Start one for the next run."""
        self._requested.set()

    async def serve(self) -> None:
        """Start one whenever it is requested, until cancelled."""
        try:
            while True:
                await self._requested.wait()
                self._requested = trio.Event()
                if self._idle is None:
                    await self._start_next()
        finally:
            if self._idle is not None:
                self._dispose(self._idle)

    async def _start_next(self) -> None:
        self._coming = here = trio.Event()
        try:
            self._idle = await self._start()
        except (SandboxError, OSError):
            return  # the next `take` tries again and raises
        finally:
            self._coming = None
            here.set()

    async def _start(self) -> CellParts:
        parts = CellParts()
        try:
            await self._maker.start(parts)
        except BaseException:
            self._dispose(parts)
            raise
        return parts


DISPOSAL_S_MAX = 10.0
RUN_S = 2.0  # a longer run does not count as busy


_Wanted = tuple[bytes, CellPurpose | None, Hashable]
"""A cell as it is described, the purpose for which one may be prewarmed, and its freshness."""


class CellPool:
    """The cells of one server. Without a budget none is prewarmed."""

    def __init__(
        self,
        placement: Placement,
        hierarchy: cgroup.Hierarchy | None,
        budget: SharedBudget | None,
        *,
        once: bool = False,
    ) -> None:
        self._placement = placement
        self._once = once
        self._maker = CellMaker(placement.spawner, placement.can.namespaces, hierarchy)
        self._started = StartedCell(self._maker, self._dispose)
        if once:
            self._started.request()
        self._ended, self._to_dispose = trio.open_memory_channel[CellParts](1 << 16)
        # Serve until `close`, whatever is cancelled around it: sessions end last, and return their
        # remaining parts.
        self._serving = trio.CancelScope(shield=True)
        self._runs: dict[object, float] = {}  # when each run that is under way asked for its cell
        self._prewarmed: Pool[CellPurpose, CellParts] | None = None
        if budget is not None and placement.can.prewarm:
            make = partial(self._prewarm, Prewarmer(self._maker))
            self._prewarmed = Pool(make, self._dispose, self._is_busy, budget.claim)

    @property
    def state(self) -> tuple[PrewarmReport, ...]:
        """Return the prewarmed cells, the purpose used last first."""
        return self._prewarmed.state if self._prewarmed else ()

    @contextlib.asynccontextmanager
    async def lease(
        self, job: Order, layout: Layout, *, session: bool = False
    ) -> AsyncIterator[tuple[Cell, cgroup.ControlGroup | None]]:
        """Lease a ready cell in its control group; end and dispose of it after the block.

        Raises:
            SandboxError: it could not be made.
        """
        parts = CellParts(layout)
        run = object()
        self._runs[run] = trio.current_time()
        try:
            # The project is searched for what is to be hidden: it may be slow, or have grown.
            packed, purpose, fresh = await trio.to_thread.run_sync(
                self._describe, job, layout, session
            )
            async with contextlib.AsyncExitStack() as stack:
                prewarmed = None
                if self._prewarmed is not None and purpose is not None:
                    lease = self._prewarmed.lease(purpose, fresh)
                    prewarmed = await stack.enter_async_context(lease)
                if prewarmed is not None and prewarmed.cell is not None:
                    parts = prewarmed
                    yield prewarmed.cell, parts.group
                else:
                    cell = await self._make(packed, job.limits, parts)
                    yield cell, parts.group
        except OSError as error:
            raise SandboxError(f"control group: {error}") from error
        finally:
            del self._runs[run]
            self._dispose(parts)

    async def _make(self, packed: bytes, limits: Limits, parts: CellParts) -> Cell:
        """Make a ready cell from a started one.

        Raises:
            SandboxError, OSError: it could not be made.
        """
        started = await self._started.take()
        parts.cell, parts.group = started.cell, started.group
        cell = await self._maker.complete(packed, limits, parts)
        if not self._once:
            self._started.request()
        return cell

    def _describe(self, job: Order, layout: Layout, session: bool) -> _Wanted:
        spec = self._placement.cell(job, layout, session=session)
        packed = pack_cell(spec)
        if self._prewarmed is None or not job.may_be_prewarmed or session or layout.room:
            return packed, None, None
        # The run says what is left of its limits.
        whole = replace(job, limits=job.whole or job.limits)
        purpose = describe_purpose(
            packed, spec, whole, without_cgroup=self._maker.hierarchy is None
        )
        return packed, purpose, purpose.fresh()

    async def _prewarm(self, prewarmer: Prewarmer, purpose: CellPurpose) -> CellParts:
        parts = CellParts(Layout(project=str(self._placement.project)))
        try:
            await prewarmer.make(purpose, parts)
        except BaseException:
            self._dispose(parts)
            raise
        return parts

    def _dispose(self, parts: CellParts) -> None:
        """End a cell now; its remains are removed after the answer."""
        if parts.cell:
            parts.cell.end()
        self._ended.send_nowait(parts)

    def _is_busy(self) -> bool:
        """Return whether runs keep all processors busy. Long runs and sessions do not count."""
        since = trio.current_time() - RUN_S
        return sum(at > since for at in self._runs.values()) >= (os.cpu_count() or 1)

    async def serve(self) -> None:
        """Start and prewarm cells until `close`."""
        try:
            with self._serving:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._started.serve)
                    if self._prewarmed is not None:
                        nursery.start_soon(self._prewarmed.serve)
        finally:
            self._ended.close()

    async def dispose_ended(self) -> None:
        """Remove what ended cells left on the host, until all of it is gone after `close`."""
        with trio.CancelScope(shield=True):
            async for parts in self._to_dispose:
                with trio.move_on_after(DISPOSAL_S_MAX):
                    await dispose(parts)

    def close(self) -> None:
        """Accept no more runs."""
        self._serving.cancel()


@contextlib.asynccontextmanager
async def open_cell_pool(
    placement: Placement,
    hierarchy: cgroup.Hierarchy | None,
    budget: SharedBudget | None,
    *,
    once: bool = False,
) -> AsyncIterator[CellPool]:
    """Open a server's cells; remove all their remains after the block.

    `once`: there is one run, for which a cell is started at once, and none for another.
    """
    pool = CellPool(placement, hierarchy, budget, once=once)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(pool.dispose_ended)
        nursery.start_soon(pool.serve)
        try:
            yield pool
        finally:
            pool.close()
