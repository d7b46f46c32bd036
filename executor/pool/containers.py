"""The pool of containers of one engine: each serves one run or session and is then removed."""

from __future__ import annotations

import contextlib
import math
from collections.abc import AsyncIterator, Mapping

import trio

from executor.containers.agent.messages import Hello
from executor.containers.box import Container, start
from executor.containers.create import ContainerSpec
from executor.containers.engine import DockerEngine
from executor.containers.host import EngineHost
from executor.containers.link import Link
from executor.instance.control import PrewarmReport
from executor.pool import pool
from executor.pool.pool import Pool, PoolLimits
from executor.request import ProjectAccess

FREE_BYTES_MIN = 1 << 30  # of the machine's memory, below which none is prewarmed
PREWARMED = PoolLimits(uses_min=1, idle_min=2, idle_max=2, total_max=4)
NONE_PREWARMED = PoolLimits(idle_min=0, idle_max=0)


def _has_free_memory(own: int) -> bool:
    """Return whether a pool may grow: this machine has free memory; the engine's is separate."""
    del own  # the pool's present members make no difference
    return pool.free_bytes() >= FREE_BYTES_MIN


class ContainerPool:
    """The pool of one engine. Containers are usable only while `serve` runs."""

    def __init__(
        self,
        engine: DockerEngine,
        host: EngineHost | None,
        labels: Mapping[str, str],
        limits: PoolLimits,
    ) -> None:
        self._engine = engine
        self._host = host
        self._labels = labels
        self._starting = 0  # containers that a run waits for
        self._links, self._to_serve = trio.open_memory_channel[Link](math.inf)
        self._ended, self._to_remove = trio.open_memory_channel[Container](math.inf)
        self._unremoved: list[Container] = []  # while the engine did not answer
        self._serving = trio.CancelScope()
        self._stopped = trio.Event()
        self._prewarmed = Pool(self.start, self.dispose, self._is_busy, _has_free_memory, limits)

    @property
    def state(self) -> tuple[PrewarmReport, ...]:
        """Return the prewarmed containers, the spec used last first."""
        return self._prewarmed.state

    @contextlib.asynccontextmanager
    async def lease(self, spec: ContainerSpec) -> AsyncIterator[Container]:
        """Lease a container for this spec, prewarm more of them, and dispose of it after the block.

        None are prewarmed if changes are committed: the project differs from run to run, and the
        engine would create missing mount points.

        Raises:
            SandboxError: none could be made.
        """
        async with contextlib.AsyncExitStack() as stack:
            container = None
            if spec.access != ProjectAccess.COMMIT.value and not spec.once:
                prewarmed = self._prewarmed.lease(spec, fresh=True)
                container = await stack.enter_async_context(prewarmed)
            if container is None:
                self._starting += 1
                try:
                    container = await self.start(spec)
                finally:
                    self._starting -= 1
            stack.callback(self.dispose, container)
            yield container

    async def try_out(self, spec: ContainerSpec) -> Hello | None:
        """Make the first container, which is kept for a run; what its agent says of itself.

        Raises:
            SandboxError: it could not be made.
        """
        container = await self.start(spec)
        self._prewarmed.put(spec, container)
        return container.hello

    async def start(self, spec: ContainerSpec) -> Container:
        """Start a new container; the caller disposes of it.

        Raises:
            SandboxError: it could not be made.
        """
        return await start(self._engine, spec, self._host, self._labels, self._links.send_nowait)

    def dispose(self, container: Container) -> None:
        """Remove a container after the answer."""
        with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            self._ended.send_nowait(container)

    async def serve(self) -> None:
        """Move what containers say, prewarm and remove containers, until `close`."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._serve_prewarmed)
            nursery.start_soon(self._serve_links, nursery)
            async for container in self._to_remove:
                nursery.start_soon(self._remove, container)
            nursery.cancel_scope.cancel()

    async def close(self) -> None:
        """Remove all that are left; those in use are disposed of by their users before."""
        self._serving.cancel()
        await self._stopped.wait()
        async with trio.open_nursery() as nursery:
            for container in self._unremoved:  # the engine may be back
                nursery.start_soon(container.remove)
            with contextlib.suppress(trio.WouldBlock, trio.EndOfChannel):
                while True:
                    nursery.start_soon(self._to_remove.receive_nowait().remove)
        self._ended.close()

    async def _serve_prewarmed(self) -> None:
        try:
            with self._serving:
                await self._prewarmed.serve()
        finally:
            self._stopped.set()

    async def _serve_links(self, nursery: trio.Nursery) -> None:
        async for link in self._to_serve:
            nursery.start_soon(link.serve)

    async def _remove(self, container: Container) -> None:
        if not await container.remove():
            self._unremoved.append(container)

    def _is_busy(self) -> bool:
        return self._starting > 0
