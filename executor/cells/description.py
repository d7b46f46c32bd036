"""Cells: described for the spawner, made in their control groups, and disposed of."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Hashable
from dataclasses import dataclass, field
from itertools import count

import trio

from executor.cells import cgroup
from executor.cells.cell import Cell, Spawner
from executor.engine import box
from executor.engine.box import JOB_BYTES, ROOM_BYTES, ROOM_INODES, Layout
from executor.engine.orders import Packed
from executor.engine.seccomp import JudgedCalls, ToldCalls
from executor.model import MIB, Limits
from executor.project.view.search import Guarded
from executor.request import ProjectAccess
from executor.spawner.messages import CellDescription


@dataclass(slots=True)
class CellParts:
    """A cell's resources on the host, during its life and after.

    Attributes:
        fresh: for a prewarmed cell, the state that must not have changed when its run comes.
        bytes: the memory that a prewarmed cell takes.
    """

    layout: Layout | None = None
    cell: Cell | None = None
    group: cgroup.ControlGroup | None = None
    fresh: Hashable = None
    bytes: int = 0
    made_at: float = 0.0  # by trio's clock


@dataclass(frozen=True, slots=True)
class CellMaker:
    """The maker of one server's cells."""

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
        await parts.cell.order(b"make", packed)
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


READ_ONLY, NOSUID, NODEV = 0x1, 0x2, 0x4  # MOUNT_ATTR_* of mount_setattr(2)
ROOT_BYTES = 16 * MIB


@dataclass(frozen=True, slots=True)
class CellSpec:
    """Everything that a cell may touch. Sources are paths as the spawner reaches them."""

    namespaces: bool
    uid: int
    gid: int
    outer_uid: int
    outer_gid: int
    project: str
    project_source: str
    access: ProjectAccess
    seccomp: bytes
    notices: bytes = b""  # the filter that reports some calls to the supervisor
    heavy_notices: bytes = b""  # the same for programs that tell of their exit, too
    names: bool = False  # the supervisor is asked for names, and has none
    told: ToldCalls | None = None  # the refused calls that are reported to the supervisor
    judged: JudgedCalls | None = None  # tier B: the calls that are judged one by one
    scopes_signals: bool = True  # Landlock keeps signals within the run
    binds: tuple[tuple[str, str], ...] = ()  # (source, path in the cell), read-only
    # The same of what the server stores: no link on the way to a source is followed.
    shown: tuple[tuple[str, str], ...] = ()
    limits: Limits = field(default_factory=Limits)
    scratch: str = box.SCRATCH
    job: str = box.JOB
    home: str = box.HOME
    guarded: Guarded = field(default_factory=Guarded)
    listen: tuple[int, ...] = ()  # ports of the cell's loopback that are served from outside
    readable: tuple[tuple[str, str], ...] = ()  # tier B: the project's (path, "r" | "list")
    session: bool = False  # the cell serves many runs
    room: str = ""  # a folder for changes to commit; without one they are in memory


def pack_cell(spec: CellSpec) -> bytes:
    """Return the description of a cell."""
    devices = tuple(path for path in box.DEVICES if os.path.exists(path))
    return _pack_cell(spec, box.system_entries(), devices)


@functools.lru_cache(maxsize=16)
def _pack_cell(spec: CellSpec, system: box.SystemEntries, devices: tuple[str, ...]) -> bytes:
    packed = Packed()
    description: CellDescription = {
        "access": [],
        "deny_tcp": not spec.namespaces,
        "namespaces": spec.namespaces,
        "uid": spec.uid,
        "gid": spec.gid,
        "outer_uid": spec.outer_uid,
        "outer_gid": spec.outer_gid,
        "hostname": box.HOSTNAME,
        "job": spec.job,
        "scratch_folder": spec.scratch,
        "session": spec.session,
        "seccomp": packed.blob(spec.seccomp),
        "notices": packed.blob(spec.notices),
        "heavy_notices": packed.blob(spec.heavy_notices),
        "scopes_signals": spec.scopes_signals,
    }
    if spec.told:
        rest = packed.blob(spec.told[0])
        description["told"] = (rest, list(spec.told[1]))
    if spec.judged:
        filter_ = packed.blob(spec.judged[0])
        description["judged"] = (filter_, list(spec.judged[1]))
    if spec.namespaces:
        _describe_tree(description, spec, system, devices, packed)
    else:
        description["access"] = _tier_b_access(spec)
    return packed.pack(description)


def _describe_tree(
    description: CellDescription,
    spec: CellSpec,
    system: box.SystemEntries,
    devices: tuple[str, ...],
    packed: Packed,
) -> None:
    """Describe the file tree and network of a cell with namespaces."""
    read_only = READ_ONLY | NOSUID | NODEV
    accounts = box.account_files(spec.uid, spec.gid)
    accounts |= box.NAME_SERVICE if spec.names else {}
    binds = [(path, path, read_only) for path in system[0]]
    binds += [(source, target, read_only) for source, target in spec.binds]
    writable: tuple[str, ...] = (spec.scratch, spec.home, box.SHARED_MEMORY, *box.DEVICES)
    commits = spec.access is ProjectAccess.COMMIT
    if spec.access is not ProjectAccess.READ_ONLY:
        writable = (*writable, spec.project)
    description["root_bytes"] = ROOT_BYTES
    description["job_bytes"] = JOB_BYTES
    description["binds"] = [*binds, *((path, path, NOSUID) for path in devices)]
    description["shown"] = list(spec.shown)
    description["symlinks"] = list(system[1])
    description["files"] = [(path, 0o644, *packed.blob(data)) for path, data in accounts.items()]
    folders = [
        ("tmp", spec.scratch, 0o1777),
        ("home", spec.home, 0o755),
        ("shm", box.SHARED_MEMORY, 0o1777),
    ]
    description["scratch"] = (spec.limits.scratch_bytes, spec.limits.scratch_inodes, folders)
    description["project"] = {
        "source": spec.project_source,
        "target": spec.project,
        "mode": "cow" if commits else spec.access.value,
        "commit": commits,
        "room": spec.room,
        "room_bytes": ROOM_BYTES if commits else 0,
        "room_inodes": ROOM_INODES,
        "secrets": list(spec.guarded.secrets),
        "special": list(spec.guarded.special),
    }
    description["access"] = [("/", "r"), *((path, "rw") for path in writable)]
    description["listen"] = list(spec.listen)
    description["names"] = spec.names


def _tier_b_access(spec: CellSpec) -> list[tuple[str, str]]:
    system = [(path, "r") for path in (*box.SYSTEM_FOLDERS, "/proc")]
    etc = [(f"/etc/{name}", "r") for name in box.ETC_ENTRIES]
    binds = [(source, "r") for source, _ in (*spec.binds, *spec.shown)]
    devices = [(path, "rw") for path in box.DEVICES]
    return [*system, *etc, *binds, *devices, (spec.job, "r"), (spec.scratch, "rw"), *spec.readable]
