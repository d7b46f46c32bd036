"""Makes a cell in its control group, and disposes of what one leaves on the host."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from itertools import count

import trio

from executor.cells import cgroup
from executor.cells.cell import Cell, Spawner
from executor.engine.layout import Layout
from executor.model import Limits


@dataclass(slots=True)
class CellParts:
    """What a cell has on the host while it lives, and leaves there."""

    layout: Layout | None = None
    cell: Cell | None = None
    group: cgroup.ControlGroup | None = None


@dataclass(frozen=True, slots=True)
class CellMaker:
    """Makes the cells of one server."""

    spawner: Spawner
    namespaces: bool
    hierarchy: cgroup.Hierarchy | None
    _numbers: count[int] = field(default_factory=count)

    async def start(self, parts: CellParts) -> None:
        """Start a cell's first process, in its namespaces and alone in its control group.

        The kernel takes longest for this, and it depends on no run. What has come into being is
        entered in `parts`, also if the rest fails.

        Raises:
            SandboxError: the process could not be made.
            OSError: its control group could not.
        """
        if self.hierarchy:
            name = str(next(self._numbers))
            parts.group = await trio.to_thread.run_sync(cgroup.make_group, self.hierarchy, name)
        parts.cell = await self.spawner.start_cell(self.namespaces)
        if parts.group:
            with contextlib.suppress(ProcessLookupError):  # `complete` will say why it died
                await trio.to_thread.run_sync(parts.group.add, parts.cell.pid)

    async def complete(self, packed: bytes, limits: Limits, parts: CellParts) -> Cell:
        """Make a started cell ready, within its limits before it starts anything.

        Raises:
            SandboxError: the cell could not be made.
            OSError: its control group does not take the limits.
        """
        assert parts.cell is not None
        await parts.cell.make(packed)
        if parts.group:
            await trio.to_thread.run_sync(parts.group.limit, limits)
        await parts.cell.ready()
        return parts.cell


async def dispose(parts: CellParts) -> None:
    """End the cell if it still lives, and remove its files and group once all in it is dead."""
    if parts.cell:
        parts.cell.end()
        await parts.cell.wait_ended()
    while parts.group and not parts.group.remove():  # noqa: ASYNC110 - the kernel tells nobody
        await trio.sleep(0.01)
    if parts.layout and parts.layout.host_folder:
        await trio.to_thread.run_sync(parts.layout.remove)
