"""Warm containers: made ahead, each for one run or session, thrown away after it.

How many may wait is bounded, by number and by the machine's free memory. They are made one at a
time, while nobody waits for a container of his own.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping
from dataclasses import dataclass

import trio

from executor.containers.container import Container, start
from executor.containers.create import ContainerSpec
from executor.containers.engine import Engine
from executor.containers.host import Host
from executor.containers.link import Link
from executor.errors import SandboxError
from executor.profile import ProjectAccess

IDLE_S_MAX = 15 * 60.0  # how long a container waits for a run of its kind
FREE_BYTES_MIN = 1 << 30  # of the machine's memory, below which none is made ahead
RETRY_S = 5.0


@dataclass(frozen=True, slots=True)
class PoolLimits:
    """How many containers may wait at once, in all and of one kind."""

    count: int = 4
    of_a_kind: int = 2


class Pool:
    """Made for one engine. `serve` must run for containers to be usable at all."""

    def __init__(
        self, engine: Engine, host: Host | None, labels: Mapping[str, str], limits: PoolLimits
    ) -> None:
        self._engine = engine
        self._host = host
        self._labels = labels
        self._limits = limits
        self._waiting: list[Container] = []  # the one that was used longest ago first
        self._links, self._to_serve = trio.open_memory_channel[Link](math.inf)
        self._dead, self._to_remove = trio.open_memory_channel[Container](math.inf)
        self._wanted: dict[ContainerSpec, int] = {}
        self._changed = trio.Event()
        self._starting = 0  # containers that someone waits for
        self._closing = False
        self._unremoved: list[Container] = []  # while the engine did not answer

    @property
    def waiting(self) -> tuple[ContainerSpec, ...]:
        """What is there for a run to take at once."""
        return tuple(container.spec for container in self._waiting)

    async def take(self, spec: ContainerSpec) -> Container:
        """A container for this spec, of which more will be made ahead. The caller buries it.

        Raises:
            SandboxError: none could be made.
        """
        self._want(spec)
        for container in self._waiting:
            if container.spec == spec and not container.link.broken:
                self._waiting.remove(container)
                return container
        self._starting += 1
        try:
            return await self._start(spec)
        finally:
            self._starting -= 1
            self._changed.set()

    async def try_out(self, spec: ContainerSpec) -> Mapping[str, int]:
        """Make the first container, which waits for a run; what its agent says of itself.

        Raises:
            SandboxError: it could not be made.
        """
        container = await self._start(spec)
        self._want(spec)
        self._waiting.append(container)
        return container.layers

    def bury(self, container: Container) -> None:
        """Have a container removed, behind whatever comes next."""
        with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            self._dead.send_nowait(container)

    async def serve(self) -> None:
        """Move what containers say and take away what is dead, until `close`."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._refill)
            nursery.start_soon(self._serve_links, nursery)
            async for container in self._to_remove:
                nursery.start_soon(self._remove, container)
            nursery.cancel_scope.cancel()

    async def close(self) -> None:
        """Remove all that wait; those in use are buried by their users before."""
        self._closing = True
        async with trio.open_nursery() as nursery:
            for container in self._waiting:
                nursery.start_soon(container.remove)
            for container in self._unremoved:  # the engine may be back
                nursery.start_soon(container.remove)
        self._waiting.clear()
        async with trio.open_nursery() as nursery:
            with contextlib.suppress(trio.WouldBlock, trio.EndOfChannel):
                while True:
                    nursery.start_soon(self._to_remove.receive_nowait().remove)
        self._dead.close()

    async def _remove(self, container: Container) -> None:
        if not await container.remove():
            self._unremoved.append(container)

    async def _start(self, spec: ContainerSpec) -> Container:
        container = await start(
            self._engine, spec, self._host, self._labels, self._links.send_nowait
        )
        container.used_at = trio.current_time()
        return container

    async def _serve_links(self, nursery: trio.Nursery) -> None:
        async for link in self._to_serve:
            nursery.start_soon(link.serve)

    def _want(self, spec: ContainerSpec) -> None:
        """Have more like it made ahead.

        Not where changes are committed: the project differs from run to run, and the engine
        would make what it is to mount over and does not find.
        """
        if spec.access == ProjectAccess.COMMIT.value:
            return
        self._wanted.pop(spec, None)
        self._wanted[spec] = self._limits.of_a_kind  # the latest kind last
        while len(self._wanted) > self._limits.count:
            del self._wanted[next(iter(self._wanted))]
        self._changed.set()

    async def _refill(self) -> None:
        while True:
            self._changed = trio.Event()
            self._drop_stale()
            spec = self._next()
            if spec is None:
                with trio.move_on_after(IDLE_S_MAX):
                    await self._changed.wait()
                continue
            try:
                container = await self._start(spec)
            except SandboxError:  # whoever wants one will be told
                self._wanted.pop(spec, None)
                await trio.sleep(RETRY_S)
                continue
            if self._closing:
                await container.remove()
                return
            self._waiting.append(container)

    def _next(self) -> ContainerSpec | None:
        """What to make ahead now: of the kind that was wanted last and is short of."""
        if self._closing or self._starting or free_bytes() < FREE_BYTES_MIN:
            return None
        order = list(self._wanted)
        for place, spec in reversed(list(enumerate(order))):
            if sum(container.spec == spec for container in self._waiting) >= self._wanted[spec]:
                continue
            if len(self._waiting) >= self._limits.count:
                older = [c for c in self._waiting if order.index(c.spec) < place]
                if not older:
                    continue
                self._discard(older[0])
            return spec
        return None

    def _drop_stale(self) -> None:
        now = trio.current_time()
        for container in list(self._waiting):
            idle = now - container.used_at > IDLE_S_MAX
            if container.link.broken or idle or container.spec not in self._wanted:
                self._discard(container)
                if idle:
                    self._wanted.pop(container.spec, None)

    def _discard(self, container: Container) -> None:
        self._waiting.remove(container)
        self.bury(container)


def free_bytes() -> int:
    """Memory that new processes could have (`MemAvailable`); much, where that is not told."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return FREE_BYTES_MIN
