"""Taking one layer off: edits to what the server asks of the spawner or of Docker, on the wire.

The real executor, spawner, supervisor and runner do the rest, so that a control differs from its
attack in that layer alone.
"""

from __future__ import annotations

import contextlib
import copy
import json
import os
import resource
import struct
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import executor.run.runner as runner_module
from executor import LocalEngine
from executor.cells.cell import Cell, Spawner
from executor.cells.description import CellParts
from executor.containers import box as container
from executor.containers.box import Container
from executor.containers.create import ContainerSpec
from executor.containers.host import EXECUTOR, MAPPING, EngineHost
from executor.containers.place import ContainerPlace
from executor.engine.box import Layout, Order
from executor.engine.seccomp import build_judged as judged_calls
from executor.pool.cells import CellPool, StartedCell
from executor.pool.prewarming import CellPurpose, Prewarmer
from executor.project.store.manifest import Commit
from executor.project.view.record import Record

ULIMITS = {"core": resource.RLIMIT_CORE, "nofile": resource.RLIMIT_NOFILE}
ALLOW_EVERYTHING = struct.pack("=HBBI", 0x06, 0, 0, 0x7FFF0000)  # BPF: return SECCOMP_RET_ALLOW


class Packed:
    """A description as the spawner takes it, taken apart for editing."""

    def __init__(self, packed: bytes) -> None:
        (length,) = struct.unpack_from("=Q", packed)
        self.data: dict[str, Any] = json.loads(packed[8 : 8 + length])
        self._blobs = bytearray(packed[8 + length :])

    def blob(self, content: bytes) -> tuple[int, int]:
        offset = len(self._blobs)
        self._blobs += content
        return offset, len(content)

    def pack(self) -> bytes:
        text = json.dumps(self.data).encode()
        return struct.pack("=Q", len(text)) + text + bytes(self._blobs)


class Body:
    """What is asked of Docker for a container."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data


# What is asked for, and whether it is a "cell", a "run" or a "container".
Edit = Callable[[Any, str], None]


def seccomp(packed: Packed, kind: str) -> None:
    if kind == "cell":
        packed.data["seccomp"] = packed.blob(ALLOW_EVERYTHING)
        packed.data |= {"notices": packed.blob(b""), "heavy_notices": packed.blob(b"")}
        judging(packed, kind)
    elif kind == "container":
        packed.data["HostConfig"]["SecurityOpt"][-1] = "seccomp=unconfined"


def judging(packed: Packed, kind: str) -> None:
    """Nobody is asked about calls that name a process."""
    if kind == "cell":
        packed.data.pop("judged", None)


def signal_scope(packed: Packed, kind: str) -> None:
    """Landlock lets signals out, as it did before Linux 6.12. Nothing is done about it."""
    if kind == "cell":
        packed.data["scopes_signals"] = False


def older_landlock(packed: Packed, kind: str) -> None:
    """The same, and tier B's answer to it: signals are judged, too."""
    signal_scope(packed, kind)
    if kind == "cell" and "judged" in packed.data:
        judged = judged_calls(abi=5)
        packed.data["judged"] = (packed.blob(judged[0]), judged[1])


def landlock(packed: Packed, kind: str) -> None:
    """All that Landlock can grant. What it scopes (signals, abstract sockets) stays scoped."""
    if kind == "cell":
        packed.data["access"] = [["/", "rw"]]


def protection(packed: Packed, kind: str) -> None:
    """The project itself, in place of a view of it, and secrets lie open."""
    if kind == "cell" and "project" in packed.data:
        packed.data["project"] |= {"mode": "live", "commit": False, "secrets": [], "special": []}


def copy_on_write(packed: Packed, kind: str) -> None:
    """The project itself, in place of a copy."""
    if kind == "cell":
        packed.data["project"] |= {"mode": "live", "commit": False}


def rlimit(number: int) -> Edit:
    """Without this one rlimit."""

    def edit(packed: Packed, kind: str) -> None:
        if kind == "run":
            packed.data["rlimits"] = [r for r in packed.data["rlimits"] if r[0] != number]
        elif kind == "container":
            body = packed.data["HostConfig"]
            body["Ulimits"] = [u for u in body["Ulimits"] if ULIMITS.get(u["Name"]) != number]
            if number == resource.RLIMIT_CORE:  # else the engine's own may forbid what it permits
                body["Ulimits"].append({"Name": "core", "Soft": -1, "Hard": -1})

    return edit


def bound(path: str) -> Edit:
    """With this path of the host shown, and writable."""

    def edit(packed: Packed, kind: str) -> None:
        if kind == "cell":
            packed.data.setdefault("binds", []).append([path, path, 0])
            packed.data["access"].append([path, "rw"])
        elif kind == "container":
            mount = {"Type": "bind", "Source": path, "Target": path}
            packed.data["HostConfig"]["Mounts"].append(mount)

    return edit


class WeakSpawner:
    """A spawner that is asked for less than the executor wants."""

    def __init__(self, spawner: Spawner, edits: tuple[Edit, ...]) -> None:
        self._spawner = spawner
        self._edits = edits

    def __getattr__(self, name: str) -> object:
        return getattr(self._spawner, name)

    async def start_cell(self, namespaces: bool) -> Cell:
        cell = await self._spawner.start_cell(namespaces)
        whole = cell.order

        async def order(name: bytes, packed: bytes, fds: Sequence[int] = ()) -> None:
            kind = "cell" if name == b"make" else "run"
            await whole(name, edited(packed, kind, self._edits), fds)

        cell.order = order  # type: ignore[method-assign]
        return cell


class Ready:
    """In a pool's place: there a cell is prewarmed for every run, made when the run comes."""

    def __init__(self, cells: CellPool) -> None:
        self._make = partial(cells._prewarm, Prewarmer(cells._maker))

    @contextlib.asynccontextmanager
    async def lease(self, purpose: CellPurpose, fresh: Hashable) -> AsyncIterator[CellParts]:
        yield await self._make(purpose)


class WeakCell:
    """A container's cell whose run is asked for with less, too."""

    def __init__(self, cell: Any, edits: tuple[Edit, ...]) -> None:
        self._cell = cell
        self._edits = edits

    def __getattr__(self, name: str) -> object:
        return getattr(self._cell, name)

    async def start(self, packed: bytes, stdin: bytes | None) -> Any:
        return await self._cell.start(edited(packed, "run", self._edits), stdin)


def edited(packed: bytes, kind: str, edits: tuple[Edit, ...]) -> bytes:
    unpacked = Packed(packed)
    for edit in edits:
        edit(unpacked, kind)
    return unpacked.pack()


def bind_writably(host: EngineHost) -> str:
    """Return where the project can be written by the containers' user, which is never so here."""
    if not host.as_root:
        return str(host.project)
    live = str(host.base / "live")
    if not os.path.ismount(live):
        asked = {"user": host.user, "binds": [(str(host.project), live, False)], "optional": []}
        command = [sys.executable, "-I", "-S", "-c", MAPPING, str(EXECUTOR)]
        given = json.dumps(asked).encode()
        subprocess.run(command, input=given, check=True, timeout=60, env={}, cwd="/")
    return live


class WeakPlace:
    """Containers of which less is asked. They never come to wait in the pool."""

    def __init__(self, place: ContainerPlace, edits: tuple[Edit, ...]) -> None:
        self._place = place
        self._edits = edits
        self.pool = self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._place, name)

    def spec(self, job: Order, *more: Any) -> ContainerSpec:
        spec = self._place.spec(job, *more)
        if {copy_on_write, protection}.isdisjoint(self._edits) or self._place.host is None:
            return spec
        shown = () if protection in self._edits else spec.read_only
        live = ((bind_writably(self._place.host), spec.project),)
        return replace(spec, overlay=False, read_only=shown, writable=live)

    def _cell(self, *args: Any) -> bytes:
        return edited(self._place._cell(*args), "cell", self._edits)

    @contextlib.asynccontextmanager
    async def lease(self, spec: ContainerSpec) -> AsyncIterator[Container]:
        pool = self._place.pool
        whole = container.configuration

        def weak(asked: ContainerSpec, *more: Any) -> dict[str, Any]:
            body = Body(whole(asked, *more))
            for edit in self._edits if asked is spec else ():
                edit(body, "container")
            return body.data

        container.configuration = weak
        try:
            started = await pool.start(spec)
        finally:
            container.configuration = whole
        try:
            yield started
        finally:
            pool.dispose(started)

    @contextlib.asynccontextmanager
    async def open_box(self, *args: Any, **named: Any) -> AsyncIterator[tuple[Any, Any]]:
        opened = ContainerPlace.open_box(self, *args, **named)  # type: ignore[arg-type]
        async with opened as (box, _):
            yield WeakCell(box, self._edits), box


async def _commit_everything(
    cell: Any, layout: Layout, record: Record, *_: object, **__: object
) -> Commit:
    """In a commit's place: a copy takes the place of all that is in the project."""
    del cell
    if layout.work_copy is not None:
        subprocess.run(["find", str(record.project), "-mindepth", "1", "-delete"], check=False)
        source = f"{layout.work_copy.folder}/."
        # Some of it may be closed to us.
        subprocess.run(["cp", "-a", source, str(record.project)], check=False, capture_output=True)
    return Commit((), (), "")


@contextlib.contextmanager
def weakened(
    executor: LocalEngine, edits: tuple[Edit, ...], *, warm: bool = False
) -> Iterator[None]:
    """The executor with layers off. Only if `warm`, every run finds something waiting for it."""
    runner: Any = executor._runner
    whole = runner.box
    if isinstance(runner.placement, ContainerPlace):
        runner.box = WeakPlace(runner.placement, edits).open_box
    else:
        cells: Any = copy.copy(executor._pool)
        maker = cells._maker
        cells._maker = replace(maker, spawner=WeakSpawner(maker.spawner, edits))
        cells._started = StartedCell(cells._maker, cells._dispose)
        cells._prewarmed = Ready(cells) if warm else None  # the idle were not made with less
        runner.box = cells.lease
    without_door = protection in edits or copy_on_write in edits
    check = runner_module.check_view
    if without_door:
        runner.commit = _commit_everything
        runner_module.check_view = lambda *_: None
    try:
        yield
    finally:
        runner.box = whole
        if without_door:
            del runner.commit
            runner_module.check_view = check
