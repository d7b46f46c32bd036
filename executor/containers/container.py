"""One container: made, started, attached to, and taken away again."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

import trio

from executor.containers.agent.frames import PROTOCOL
from executor.containers.agent.messages import Hello
from executor.containers.create import ContainerSpec, configuration
from executor.containers.engine import UNREACHABLE, DockerEngine, EngineError
from executor.containers.host import EngineHost, Upper
from executor.containers.link import Link

START_S_MAX = 60.0
REMOVAL_S_MAX = 60.0


@dataclass(slots=True, eq=False)
class Container:
    """Started, its agent waiting for an order; whoever has it owes it a `remove`."""

    id: str
    spec: ContainerSpec
    engine: DockerEngine
    link: Link
    upper: Upper | None
    hello: Hello | None = None
    made_at: float = field(default_factory=trio.current_time)
    remove_layout: Callable[[], None] | None = None  # what its run has on this host
    bytes: int = 0  # its memory is the engine's

    @property
    def fresh(self) -> bool:
        """Whether it still answers; its spec says what it shows."""
        return not self.link.broken

    async def fate(self) -> tuple[str, bool]:
        """Why it is no more, as the engine says, and whether its memory was used up."""
        try:
            with trio.fail_after(10):
                state = (await self.engine.call("inspect_container", self.id))["State"]
        except (EngineError, trio.TooSlowError):
            return UNREACHABLE, False
        said = self.link.complaint or state.get("Error") or f"exit {state.get('ExitCode')}"
        return f"the container has ended: {said}", bool(state.get("OOMKilled"))

    async def remove(self) -> bool:
        """End it, and leave nothing of it; whether that is so, or the engine did not answer."""
        removed = False
        with trio.move_on_after(REMOVAL_S_MAX, shield=True):
            await self.link.close()
            with contextlib.suppress(EngineError):
                await self.engine.call("remove_container", self.id, v=True, force=True)
                removed = True
            if self.upper is not None:
                await trio.to_thread.run_sync(self.upper.remove)
            if self.remove_layout is not None:
                await trio.to_thread.run_sync(self.remove_layout)
        return removed


Serve = Callable[[Link], None]


async def start(
    engine: DockerEngine,
    spec: ContainerSpec,
    host: EngineHost | None,
    labels: Mapping[str, str],
    serve: Serve,
) -> Container:
    """A container whose agent has said hello. `serve` has its link served.

    Raises:
        EngineError: it could not be made or started, or what answers is no agent of ours.
    """
    upper = overlay = None
    if spec.overlay and host is not None:
        upper = await trio.to_thread.run_sync(partial(host.make_upper, spec, labels))
        overlay = upper.volume
    identity, link = "", None
    try:
        body = configuration(spec, labels, engine.facts.processors, overlay)
        with trio.CancelScope(shield=True):  # what was made must be known, to be taken away
            identity = (await engine.call("create_container_from_config", body))["Id"]
        with trio.fail_after(START_S_MAX):
            link = Link(await engine.attach(identity))
            serve(link)
            await engine.call("start", identity)
            container = Container(identity, spec, engine, link, upper)
            container.hello = await _hello(container)
    except BaseException as error:
        with trio.CancelScope(shield=True):
            if link is not None:
                await link.close()
            if identity:
                with contextlib.suppress(EngineError):
                    await engine.call("remove_container", identity, v=True, force=True)
            if upper is not None:
                await trio.to_thread.run_sync(upper.remove)
        if isinstance(error, trio.TooSlowError):
            raise EngineError(f"a container did not start within {START_S_MAX:g} s") from error
        raise
    return container


async def _hello(container: Container) -> Hello:
    said = await container.link.message()
    hello = said.get("hello")
    if hello is None or hello["protocol"] != PROTOCOL:
        fate, _ = await container.fate()
        what = f"speaks protocol {hello['protocol']}, not {PROTOCOL}" if hello else fate
        raise EngineError(
            f"the agent of image {container.spec.image} {what}; "
            "`context-mode images build` makes the images anew"
        )
    if exposed := hello["exposed"]:
        raise EngineError(
            f"runtime {container.spec.runtime or 'of this engine'}: programs could open what "
            f"supervises them (descriptors {exposed}); register gVisor under a name that begins "
            "with `runsc`, and use that"
        )
    return hello
