"""A container: made, attached to, and a box for runs, as `executor.cells.cell.Cell`.

The runner passes descriptors of this host, as it does to a cell; here their bytes are moved to and
from the container.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import socket
import stat
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import trio

from executor.containers.agent.messages import PROTOCOL, Hello
from executor.containers.create import ContainerSpec, configuration, has_own_kernel
from executor.containers.engine import UNREACHABLE, DockerEngine, EngineError
from executor.containers.host import EngineHost, Upper
from executor.containers.link import Channel, Link
from executor.engine.box import Consumption, Exit
from executor.engine.orders import start_with_pipes
from executor.instance import lock
from executor.model import SandboxError
from executor.spawner.messages import FromSupervisor, HandedOver, Layers
from executor.spawner.view import FOLDER

START_S_MAX = 60.0
REMOVAL_S_MAX = 60.0


@dataclass(slots=True, eq=False)
class Container:
    """A started container whose agent waits for an order; its holder must call `remove`."""

    id: str
    spec: ContainerSpec
    engine: DockerEngine
    link: Link
    upper: Upper | None
    hello: Hello | None = None
    made_at: float = field(default_factory=trio.current_time)
    remove_layout: Callable[[], None] | None = None  # removes its run's folders on this host
    bytes: int = 0  # its memory is the engine's

    @property
    def fresh(self) -> bool:
        """Return whether it still answers; its spec describes its content."""
        return not self.link.broken

    async def fate(self) -> tuple[str, bool]:
        """Return why it ended, as the engine reports it, and whether its memory was used up."""
        try:
            with trio.fail_after(10):
                state = (await self.engine.call("inspect_container", self.id))["State"]
        except (EngineError, trio.TooSlowError):
            return UNREACHABLE, False
        said = self.link.complaint or state.get("Error") or f"exit {state.get('ExitCode')}"
        return f"the container has ended: {said}", bool(state.get("OOMKilled"))

    async def remove(self) -> bool:
        """End it and remove everything of it; return False if the engine did not answer."""
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
    """Start a container, and wait for its agent's hello. `serve` serves its link.

    Raises:
        EngineError: it could not be made or started, or it is not our agent that answers.
    """
    upper = overlay = None
    if spec.overlay and host is not None:
        upper = await trio.to_thread.run_sync(partial(host.make_upper, spec, labels))
        overlay = upper.volume
    identity, link = "", None
    try:
        body = configuration(spec, labels, engine.facts.processors, overlay)
        with trio.CancelScope(shield=True):  # a made container must be known to be removed
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
            "`context-mode doctor images build` rebuilds the images"
        )
    if exposed := hello["exposed"]:
        raise EngineError(
            f"runtime {container.spec.runtime or 'of this engine'}: programs could open what "
            f"supervises them (descriptors {exposed}); register gVisor under a name that begins "
            "with `runsc`, and use that"
        )
    return hello


READ_BYTES = 64 * 1024
OUTPUTS = 3  # descriptors up to here are a program's own
# Gets an archive of what a run has changed in a project that travelled, and how the run ended.
BringBack = Callable[[int, Exit], Awaitable[None]]


class ContainerBox:
    """A container's box, from the lease of the container to its removal."""

    def __init__(self, container: Container, folder: Path) -> None:
        self.owner = (os.geteuid(), os.getegid())
        self.handed_over: HandedOver | None = None
        self.layers: Layers = {}
        self.container = container
        self._link = container.link
        self._folder = folder  # for the sockets that stand for the container's
        self.bring_back: BringBack | None = None
        self._changes = -1
        self._is_lost = False
        self._fds: list[int] = []
        self._listening: dict[int, Path] = {}
        self._consumed = Consumption(None, 0, 0)

    async def begin(self, packed: bytes, files: bytes | None, ports: Sequence[int]) -> None:
        """Describe the box to the agent; `take_fds` then returns the listening sockets of `ports`.

        Raises:
            SandboxError: the container is gone.
        """
        for port in ports:
            self._fds.append(self._listen(port).detach())
        self._link.connected = self._connect
        await self._order("cell", packed, [] if files is None else [files], ports)

    async def start(self, packed: bytes, stdin: bytes | None) -> dict[str, int]:
        """Start a program: see `Cell.start`."""
        return await start_with_pipes(self.run, packed, stdin, self.owner)

    async def run(self, packed: bytes, stdio: Sequence[int]) -> None:
        """Run a program: see `Cell.run`."""
        await self.order(b"run", packed, stdio)

    async def order(self, name: bytes, packed: bytes, fds: Sequence[int] = ()) -> None:
        """Send an order: see `Cell.order`. The descriptors stay the caller's.

        Raises:
            SandboxError: the container is gone.
        """
        described: list[bytes | str] = []
        moves: list[Callable[[Channel], Awaitable[None]]] = []
        for place, fd in enumerate(fds):
            if not stat.S_ISFIFO(os.fstat(fd).st_mode):
                described.append(await trio.to_thread.run_sync(_content, fd))
                continue
            own = os.dup(fd)
            if fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
                described.append("read")
                moves.append(partial(_send_all, own))
            else:
                described.append("written")
                # An interpreter's answer follows the output of its program.
                moves.append(partial(_receive_all, own, is_last=place >= OUTPUTS))
        channels = await self._order(name.decode(), packed, described)
        for channel, move in zip(channels, moves, strict=True):
            self._link.start(partial(move, channel))

    async def stop(self) -> None:
        """Stop the program: see `Cell.stop`."""
        with contextlib.suppress(SandboxError):
            await self._order("stop", b"", [])

    async def exit(self) -> Exit:
        """Wait for the program's end: see `Cell.exit`.

        Raises:
            SandboxError: the program could not be started, or the container is gone.
        """
        message = await self.message()
        if "exit" not in message:
            raise SandboxError(str(message.get("error", "the container has ended")))
        end = message["exit"]
        if self.container.upper is not None:
            changes, full = await trio.to_thread.run_sync(self.container.upper.changes)
            end["changed"], end["changed_omitted"] = changes.listed, changes.omitted
            end["scratch_full"] = end["scratch_full"] or full
        report = Exit(**end)
        if self._changes >= 0:
            if self.bring_back is not None:
                await self.bring_back(self._changes, report)
            os.close(self._changes)
            self._changes = -1
        return report

    async def message(self) -> FromSupervisor:
        """Return the supervisor's next message; None if it is gone. Files are put aside.

        Its end is reported once as an error, with the engine's words.
        """
        while True:
            said = await self._link.message()
            if not said:
                return await self._describe_loss()
            if "consumption" in said:
                self._consumed = Consumption(*said["consumption"])
            fds = said.get("fds", [])
            if "artifacts" in said and "skipped" in said:
                self.handed_over = said["artifacts"], said["skipped"]
                self._fds = fds
            elif "changes" in said:
                (self._changes,) = fds
            elif "ready" not in said:
                return said

    async def _describe_loss(self) -> FromSupervisor:
        if self._is_lost:
            return {}
        self._is_lost = True
        why, of_memory = await self.container.fate()
        if of_memory:
            self._consumed = Consumption(None, self._consumed.oom_kills + 1, 0)
        return {"error": why}

    @property
    def enforces(self) -> bool:
        """Return whether Docker sets the limits: some rootless engines can't, and a guest kernel
        must reach its limits before its host process reaches Docker's, which ends both."""
        facts = self.container.engine.facts
        return facts.limits and not has_own_kernel(self.container.spec.runtime)

    def consumption(self) -> Consumption:
        """Return the counts of the container's control group, as of the latest message."""
        return self._consumed

    def take_fds(self) -> list[int]:
        """Take the descriptors: see `Cell.take_fds`."""
        fds, self._fds = self._fds, []
        return fds

    def take_upper(self) -> int | None:
        """Open the folder of the writes: see `Cell.take_upper`."""
        upper = self.container.upper
        return None if upper is None else os.open(upper.folder / "upper", FOLDER)

    def end(self) -> None:
        """Accept nothing more from it. The container itself is removed by `Container.remove`."""
        for fd in self.take_fds():
            os.close(fd)
        for path in self._listening.values():
            path.unlink(missing_ok=True)

    async def wait_ended(self) -> None:
        """Wait for the end: see `Cell.wait_ended`."""
        with contextlib.suppress(SandboxError):  # one that has ended can't be killed
            await self.container.engine.call("kill", self.container.id)
        with contextlib.suppress(SandboxError):
            await self.container.engine.call("wait", self.container.id)

    async def _order(
        self, name: str, packed: bytes, described: Sequence[bytes | str], listen: Sequence[int] = ()
    ) -> list[Channel]:
        try:
            return await self._link.order(name, packed, described, listen)
        except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
            why, _ = await self.container.fate()
            raise SandboxError(why) from error

    def _listen(self, port: int) -> socket.socket:
        """Open a socket whose connections are those made to `port` in the container."""
        lock.own_folder(self._folder.parent)
        lock.own_folder(self._folder)
        path = self._folder / f"{port}-{secrets.token_hex(4)}"
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(path))
        listener.listen()
        self._listening[port] = path
        return listener

    async def _connect(self, port: int, channel: Channel) -> None:
        """Connect here for a program that has connected in the container."""
        path = self._listening.get(port)
        try:
            stream = await trio.open_unix_socket(str(path))
        except OSError:
            await channel.send_end()
            return
        async with stream, trio.open_nursery() as nursery:

            async def there() -> None:
                with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
                    while chunk := await stream.receive_some(READ_BYTES):
                        await channel.send(chunk)
                with contextlib.suppress(trio.BrokenResourceError):
                    await channel.send_end()

            nursery.start_soon(there)
            while chunk := await channel.receive():
                await stream.send_all(chunk)
            await stream.send_eof()


def _content(fd: int) -> bytes:
    """Return the content of a regular file; b"" for devices, which may be endless."""
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        return b""
    content = bytearray()
    while part := os.pread(fd, 1 << 20, len(content)):
        content += part
    return bytes(content)


async def _send_all(fd: int, channel: Channel) -> None:
    async with trio.lowlevel.FdStream(fd) as stream:
        while chunk := await stream.receive_some(READ_BYTES):
            await channel.send(chunk)
    await channel.send_end()


async def _receive_all(fd: int, channel: Channel, *, is_last: bool) -> None:
    async with trio.lowlevel.FdStream(fd) as stream:
        while chunk := await channel.receive():
            if is_last:
                await channel.link.flush(channel.number)
            with contextlib.suppress(trio.BrokenResourceError):  # nobody reads it any more
                await stream.send_all(chunk)
