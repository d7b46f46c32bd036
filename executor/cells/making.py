"""Making a cell in its control group, and clearing away what one leaves on the host."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from itertools import count

import trio

from executor.cells import cgroup
from executor.cells.cell import Cell, Spawner
from executor.cells.placement import Layout
from executor.model import Limits


@dataclass(slots=True)
class Remains:
    """What a cell has on the host while it lives, and leaves there."""

    layout: Layout | None = None
    cell: Cell | None = None
    group: cgroup.Group | None = None


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes cells of one server."""

    spawner: Spawner
    tier: str
    hierarchy: cgroup.Hierarchy | None
    _numbers: count[int] = field(default_factory=count)

    async def begin(self, remains: Remains) -> None:
        """The first process of a cell, in its namespaces and alone in its control group.

        That is what the kernel takes longest for, and it depends on nothing. What has come into
        being is entered in `remains`, also if the rest fails.

        Raises:
            SandboxError: the process could not be made.
            OSError: its control group could not.
        """
        if self.hierarchy:
            name = str(next(self._numbers))
            remains.group = await trio.to_thread.run_sync(cgroup.make_group, self.hierarchy, name)
        remains.cell = await self.spawner.start_cell(self.tier)
        if remains.group:
            with contextlib.suppress(ProcessLookupError):  # `finish` will say why it died
                await trio.to_thread.run_sync(remains.group.add, remains.cell.pid)

    async def finish(self, packed: bytes, limits: Limits, remains: Remains) -> Cell:
        """The ready cell that a begun one is to be, within its limits before it starts anything.

        Raises:
            SandboxError: the cell could not be made.
            OSError: its control group does not take the limits.
        """
        assert remains.cell is not None
        await remains.cell.make(packed)
        if remains.group:
            await trio.to_thread.run_sync(remains.group.limit, limits)
        await remains.cell.ready()
        return remains.cell


async def bury(remains: Remains) -> None:
    """End the cell if it still lives, and take all away once everything in it is dead."""
    if remains.cell:
        remains.cell.end()
        await remains.cell.ended()
    while remains.group and not remains.group.remove():  # noqa: ASYNC110 - the kernel tells nobody
        await trio.sleep(0.01)
    if remains.layout and remains.layout.host_folder:
        await trio.to_thread.run_sync(remains.layout.remove)
