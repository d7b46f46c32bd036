"""Prewarmed cells, in each of which a program waits for its run: their purpose and start."""

from __future__ import annotations

import os
from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import PurePath

import trio

from executor.cells.cell import Cell
from executor.cells.description import CellMaker, CellParts, CellSpec
from executor.engine import box
from executor.engine.box import Order
from executor.engine.orders import (
    OUTPUTS,
    anonymous_file,
    pack_hold,
    pipe,
)
from executor.model import Limits


@dataclass(frozen=True, slots=True)
class CellPurpose:
    """The properties of a run except the text of its program.

    The descriptions of the cell and of the waiting program are the key: cells and programs can
    depend on nothing else.
    """

    label: str
    cell: bytes
    hold: bytes
    has_stdin: bool
    limits: Limits
    paths: tuple[str, ...]  # on the host, of what a cell shows as it was when it was made

    @property
    def key(self) -> Hashable:
        limits = self.limits
        return self.cell, self.hold, self.has_stdin, limits.memory_bytes, limits.processes

    def fresh(self) -> Hashable:
        """Return the state that the host must still have when the program is released.

        It is the identity of each file, and for all but folders its time.
        """
        state: list[Hashable] = []
        for path in self.paths:
            try:
                info = os.stat(path)
            except OSError:
                state.append(None)
                continue
            is_folder = info.st_mode & 0o170000 == 0o040000
            state.append((info.st_dev, info.st_ino, 0 if is_folder else info.st_mtime_ns))
        return tuple(state)


def describe_purpose(
    packed: bytes, spec: CellSpec, run: Order, *, without_cgroup: bool
) -> CellPurpose:
    """Return the purpose of a run in the described cell."""
    unspecific = replace(run, artifacts=())
    plan, has_stdin = run.prewarm, run.stdin is not None
    if plan and plan.reads_early and has_stdin:
        plan = None
    if plan and plan.steps[0].phase != run.steps[0].phase:
        plan = None  # what it waits for is yet to be compiled
    if plan and not run.env.keys().isdisjoint(plan.not_with):
        plan = None
    return CellPurpose(
        label=f"{PurePath(run.steps[0].argv[0]).name}, {'started' if plan else 'ready to start'}",
        cell=packed,
        hold=pack_hold(unspecific, plan, without_cgroup=without_cgroup),
        has_stdin=has_stdin,
        limits=run.limits,
        # What a cell holds on to: mounts, programs, folders it has looked into. A mount still shows
        # the old file after a host program replaces it, a copy-on-write view its earlier look-ups.
        paths=(
            *box.system_entries()[0],
            *(path for _, path in (*spec.binds, *spec.shown)),
            *(step.argv[0] for step in run.steps),
            *(spec.project, run.cwd),
            *_on_the_way(spec.project, run.cwd, spec.guarded.secrets, spec.guarded.special),
        ),
    )


@lru_cache(maxsize=16)
def _on_the_way(
    project: str, cwd: str, secrets: tuple[str, ...], special: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the project's folders on the way to these paths."""
    looked_into = [cwd, *(f"{project}/{path}" for path in (*secrets, *special))]
    folders = {folder for path in looked_into for folder in PurePath(path).parents}
    return tuple(sorted(str(f) for f in folders if f.is_relative_to(project)))


class Prewarmer:
    """The maker of prewarmed cells."""

    def __init__(self, maker: CellMaker) -> None:
        self._maker = maker

    async def make(self, purpose: CellPurpose, parts: CellParts) -> None:
        """Make one for this purpose. What has come into being is entered in `parts`, also on
        failure.

        Raises:
            SandboxError, OSError: it could not be made.
        """
        parts.fresh = await trio.to_thread.run_sync(purpose.fresh)
        await self._maker.start(parts)
        cell = await self._maker.complete(purpose.cell, purpose.limits, parts)
        resident = await self._start_program(cell, purpose)
        group = parts.group
        in_group = await trio.to_thread.run_sync(group.memory_bytes) if group else None
        parts.bytes, parts.made_at = in_group or resident, trio.current_time()

    async def _start_program(self, cell: Cell, purpose: CellPurpose) -> int:
        """Start the program until it waits for its text; return the bytes that it takes."""
        nothing = os.O_RDONLY | os.O_CLOEXEC
        stdin = anonymous_file(b"") if purpose.has_stdin else os.open(os.devnull, nothing)
        readers, writers = {}, []
        for name in OUTPUTS:
            readers[name], writer = pipe(cell.owner)
            writers.append(writer)
        cell.readers, cell.stdin_file = readers, stdin if purpose.has_stdin else None
        try:
            return await cell.hold(purpose.hold, (stdin, *writers))
        finally:
            for fd in (*writers, *(() if purpose.has_stdin else (stdin,))):
                os.close(fd)
