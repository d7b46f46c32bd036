"""Cells for runs: one where something waits for just this run, or one that is made for it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Hashable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import trio

from executor.cells import cgroup
from executor.cells.cell import Cell
from executor.cells.description import pack_cell
from executor.cells.making import Maker, Remains, bury
from executor.cells.placement import Layout, Placement
from executor.errors import SandboxError
from executor.model import Limits
from executor.pool.spare import Spare

# What waits ahead of its use is loaded where a server makes any.
if TYPE_CHECKING:
    from executor.pool.budget import Budget
    from executor.pool.pool import Pool
    from executor.pool.prewarming import Kind, Waiting, WaitingRoom
    from executor.run.runner import Job

BURIAL_S_MAX = 10.0
RUSH_S = 2.0
LINGERING_MAX = 32  # ended cells that wait for the end of a rush,
LINGERING_BYTES_MAX = 8 << 20  # each of them holding less than this


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A cell as it is described, and the kind of what may be waiting in one."""

    packed: bytes
    kind: Kind | None = None
    fresh: Hashable = None


class Supply:
    """The cells of one server. Without a budget nothing waits ahead of its use."""

    def __init__(
        self,
        placement: Placement,
        hierarchy: cgroup.Hierarchy | None,
        budget: Budget | None,
        *,
        once: bool = False,
    ) -> None:
        self._placement = placement
        self._once = once
        self._maker = Maker(placement.spawner, placement.tier, hierarchy)
        self._spare = Spare(self._maker, self._end)
        if once:
            self._spare.want()
        self._dead, self._to_bury = trio.open_memory_channel[Remains](1 << 16)
        # Whatever is cancelled around them, tending and clean-up go on until `close`: sessions end
        # on the way out, and hand over what they leave.
        self._tending = trio.CancelScope(shield=True)
        self._opened: dict[object, float] = {}  # when what is in use was asked for
        self._calm = trio.Event()
        self.pool: Pool[Kind, Waiting] | None = None
        if budget is not None and placement.tier == "A":
            from executor.pool.pool import Pool  # noqa: PLC0415
            from executor.pool.prewarming import WaitingRoom  # noqa: PLC0415

            make = partial(self._make, WaitingRoom(self._maker))
            self.pool = Pool(make, self._discard, self._is_busy, budget)

    @contextlib.asynccontextmanager
    async def open(
        self, job: Job, layout: Layout, *, session: bool = False
    ) -> AsyncIterator[tuple[Cell, cgroup.Group | None]]:
        """A ready cell in its control group; on the way out it is ended and handed to clean-up.

        Raises:
            SandboxError: it could not be made.
            TrialOutdatedError: see `_finished`.
        """
        remains = Remains(layout)
        use = object()
        self._opened[use] = trio.current_time()
        try:
            # The project is searched for what is to be hidden: it may be slow, or have grown.
            wanted = await trio.to_thread.run_sync(self._describe, job, layout, session)
            async with self._waiting(wanted) as waiting:
                if waiting is not None:
                    remains = waiting.remains
                    yield waiting.cell, remains.group
                else:
                    cell = await self._finished(wanted.packed, job.limits, remains)
                    if not self._once:
                        self._spare.want()
                    yield cell, remains.group
        except OSError as error:
            raise SandboxError(f"control group: {error}") from error
        finally:
            del self._opened[use]
            self._end(remains)
            if not self._is_busy():
                self._calm.set()
                self._calm = trio.Event()

    async def _finished(self, packed: bytes, limits: Limits, remains: Remains) -> Cell:
        """A ready cell, made of a begun one.

        Raises:
            SandboxError, OSError: it could not be made.
            TrialOutdatedError: neither could it, or it has other layers, and so far an earlier
                trial was taken at its word.
        """
        recalled = self._placement.recalled
        try:
            begun = await self._spare.take()
            remains.cell, remains.group = begun.cell, begun.group
            cell = await self._maker.finish(packed, limits, remains)
        except (SandboxError, OSError) as error:
            if recalled:
                raise recalled.outdated(str(error)) from error
            raise
        if recalled:
            recalled.confirm(cell.layers)
        return cell

    def doubt(self) -> None:
        """A run had no sandbox: no further executor is to take an earlier trial at its word."""
        if self._placement.recalled:
            self._placement.recalled.record.forget()

    def _describe(self, job: Job, layout: Layout, session: bool) -> _Wanted:
        placement = self._placement
        spec = placement.cell(job.profile, job.limits, job.binds, layout, session=session)
        if job.substitute is not None:
            spec = placement.without_project(spec, job.substitute)
        spec = placement.showing(spec, job.shown)
        packed = pack_cell(spec)
        if self.pool is None or not job.warm or session or layout.room:
            return _Wanted(packed)
        from executor.pool.prewarming import kind_of  # noqa: PLC0415 - loaded with the pool

        run = job.spec(without_cgroup=self._maker.hierarchy is None)
        run = replace(run, limits=job.whole or job.limits)  # what is left is told with the run
        kind = kind_of(packed, spec, run, job.ahead, has_stdin=job.stdin is not None)
        return _Wanted(packed, kind, kind.fresh())

    @contextlib.asynccontextmanager
    async def _waiting(self, wanted: _Wanted) -> AsyncIterator[Waiting | None]:
        """What waits for just this run, if the job may have it; more of it is made afterwards."""
        if self.pool is None or wanted.kind is None:
            yield None
            return
        with self.pool.use(wanted.kind):
            yield await self.pool.take(wanted.kind, wanted.fresh)

    async def _make(self, room: WaitingRoom, kind: Kind) -> Waiting:
        remains = Remains(Layout(project=str(self._placement.project)))
        try:
            return await room.make(kind, remains)
        except BaseException:
            self._end(remains)
            raise

    def _discard(self, waiting: Waiting) -> None:
        self._end(waiting.remains)

    def _end(self, remains: Remains) -> None:
        """End a cell; what it leaves is taken away behind the answer."""
        if remains.cell and not self._may_linger(remains.cell, remains.group):
            remains.cell.end()
        self._dead.send_nowait(remains)

    def _may_linger(self, cell: Cell, group: cgroup.Group | None) -> bool:
        """Whether a cell in which nothing runs any more is ended only after the rush.

        To take its namespaces down is work for the kernel, and runs wait for a processor.
        """
        if not cell.is_over or group is None or not self._is_busy():
            return False
        if self._unburied() >= LINGERING_MAX:
            return False
        return (group.memory_bytes() or LINGERING_BYTES_MAX) < LINGERING_BYTES_MAX

    def _is_busy(self) -> bool:
        """Whether runs come one upon the other. What goes on for long, or is a session, is none."""
        since = trio.current_time() - RUSH_S
        return sum(at > since for at in self._opened.values()) >= (os.cpu_count() or 1)

    async def tend(self) -> None:
        """Let programs wait for their runs, until `close`."""
        try:
            with self._tending:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._spare.tend)
                    if self.pool is not None:
                        nursery.start_soon(self.pool.tend)
        finally:
            self._dead.close()

    async def clean_up(self) -> None:
        """Take away what ended runs left on the host, until all of it is gone after `close`."""
        with trio.CancelScope(shield=True):
            async for remains in self._to_bury:
                if self._is_busy() and self._unburied() < LINGERING_MAX:
                    with trio.move_on_after(RUSH_S):
                        await self._calm.wait()
                with trio.move_on_after(BURIAL_S_MAX):
                    await bury(remains)

    def _unburied(self) -> int:
        return self._to_bury.statistics().current_buffer_used

    def close(self) -> None:
        """No more runs."""
        self._tending.cancel()


@contextlib.asynccontextmanager
async def open_supply(
    placement: Placement,
    hierarchy: cgroup.Hierarchy | None,
    budget: Budget | None,
    *,
    once: bool = False,
) -> AsyncIterator[Supply]:
    """A server's cells; on the way out everything they have left is gone.

    `once`: there is one run, for which a cell is begun at once, and none for another.
    """
    supply = Supply(placement, hierarchy, budget, once=once)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(supply.clean_up)
        nursery.start_soon(supply.tend)
        try:
            yield supply
        finally:
            supply.close()
