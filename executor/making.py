"""Making a cell in its control group, and clearing away what one leaves on the host."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

import trio

from executor import cgroup
from executor.cells import Cell, Spawner
from executor.model import Limits
from executor.placement import Layout


@dataclass(slots=True)
class Remains:
    """What a cell has on the host while it lives, and leaves there."""

    layout: Layout
    cell: Cell | None = None
    group: cgroup.Group | None = None


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes cells of one server."""

    spawner: Spawner
    tier: str
    hierarchy: cgroup.Hierarchy | None

    async def make(self, name: str, packed: bytes, limits: Limits, remains: Remains) -> Cell:
        """A ready cell, in a control group of that name before it starts anything.

        What has come into being is entered in `remains`, also if the rest fails.

        Raises:
            SandboxError: the cell could not be made.
            OSError: its control group could not.
        """
        if self.hierarchy:
            remains.group = await trio.to_thread.run_sync(
                cgroup.make_group, self.hierarchy, name, limits
            )
        remains.cell = await self.spawner.start_cell(packed, self.tier)
        if remains.group:
            with contextlib.suppress(ProcessLookupError):  # `ready` will say why it died
                await trio.to_thread.run_sync(remains.group.add, remains.cell.pid)
        await remains.cell.ready()
        return remains.cell


async def bury(remains: Remains) -> None:
    """Take it away once everything in the cell is dead."""
    if remains.cell:
        await remains.cell.ended()
    while remains.group and not remains.group.remove():  # noqa: ASYNC110 - the kernel tells nobody
        await trio.sleep(0.01)
    if remains.layout.host_folder:
        await trio.to_thread.run_sync(remains.layout.remove)
