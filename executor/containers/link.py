"""The server's end of a container's stream: orders go in, messages and bytes come out."""

from __future__ import annotations

import contextlib
import math
import os
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

import trio

from executor.containers.agent.messages import (
    ACK,
    ACK_BYTES,
    CHUNK_BYTES,
    DATA,
    END,
    MESSAGE,
    ORDER,
    WINDOW_BYTES,
    AgentOrder,
    BrokenStreamError,
    Frames,
    FromAgent,
    frame,
    pack,
    parse_acknowledged,
    unpack,
)
from executor.engine.orders import check_message
from executor.model import SandboxError

COMPLAINT_BYTES_MAX = 4096
FLUSH_S_MAX = 5.0  # how long what programs wrote may take to reach whoever reads it
GONE = (trio.BrokenResourceError, trio.ClosedResourceError, OSError)

# Gets the port on which a program connected, and the two directions of its connection.
Connected = Callable[[int, "Channel"], Awaitable[None]]


@dataclass(slots=True)
class Channel:
    """One numbered flow of bytes, with the server's ends of it."""

    number: int
    link: Link
    incoming: trio.MemorySendChannel[bytes]
    arrived: trio.MemoryReceiveChannel[bytes]
    room: int = WINDOW_BYTES
    more_room: trio.Event = field(default_factory=trio.Event)
    undelivered: int = 0
    given: int = 0
    unacknowledged: int = 0

    async def send(self, data: bytes) -> None:
        """Send bytes as the other side takes them.

        Raises:
            trio.BrokenResourceError: the container is gone.
        """
        for start in range(0, len(data), CHUNK_BYTES):
            chunk = data[start : start + CHUNK_BYTES]
            while self.room < len(chunk):
                self.more_room = trio.Event()
                await self.more_room.wait()
                self.link.check()
            self.room -= len(chunk)
            await self.link.send(DATA, self.number, chunk)

    async def send_end(self) -> None:
        await self.link.send(END, self.number)

    async def receive(self) -> bytes:
        """Return the next data, empty at the end; earlier data then counts as delivered."""
        if self.given:
            self.undelivered -= self.given
            self.unacknowledged += self.given
            self.given = 0
            self.link.delivered.set()
        if self.unacknowledged >= ACK_BYTES:
            count, self.unacknowledged = self.unacknowledged, 0
            with contextlib.suppress(*GONE):  # nobody waits for it, but what came is here
                await self.link.send(ACK, self.number, count.to_bytes(8, "big"))
        try:
            chunk = await self.arrived.receive()
        except trio.EndOfChannel:
            return b""
        self.given = len(chunk)
        return chunk

    def wake(self) -> None:
        self.more_room.set()


class Link:
    """The stream to one container. `serve` must run for anything to move."""

    def __init__(self, stream: trio.abc.Stream) -> None:
        self._stream = stream
        self.connected: Connected | None = None
        self._sending = trio.Lock()
        self._frames = Frames()
        self._channels: dict[int, Channel] = {}
        self._files: dict[int, BinaryIO] = {}
        self._next = 0
        self._told, self._messages = trio.open_memory_channel[FromAgent](math.inf)
        self._work, self._to_do = trio.open_memory_channel[Callable[[], Awaitable[None]]](math.inf)
        self._complaint = bytearray()
        self.delivered = trio.Event()
        self.broken = ""  # why nothing moves any more

    @property
    def complaint(self) -> str:
        """Return the agent's last own line on stderr: empty, unless it failed."""
        return self._complaint.decode(errors="replace").strip()

    async def serve(self) -> None:
        """Move data both ways until the stream ends or `close` is called."""
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._attend)
                await self._receive()
                self._end()
                # What has come is still handed on.
                nursery.cancel_scope.deadline = trio.current_time() + FLUSH_S_MAX
        except* (*GONE, BrokenStreamError, SandboxError) as group:
            self.broken = self.broken or str(group.exceptions[0])
        finally:
            self._end()
            await trio.aclose_forcefully(self._stream)

    def _end(self) -> None:
        self.broken = self.broken or "its stream has ended"
        self._told.close()
        self._work.close()
        for channel in self._channels.values():
            channel.incoming.close()
            channel.wake()

    async def close(self) -> None:
        """Close the stream: the agent then ends everything in its container, and itself."""
        self.broken = self.broken or "it was closed"
        await trio.aclose_forcefully(self._stream)

    def check(self) -> None:
        """Raise trio.BrokenResourceError if the container is gone."""
        if self.broken:
            raise trio.BrokenResourceError(self.broken)

    async def order(
        self,
        name: str,
        packed: bytes = b"",
        descriptors: Sequence[int | bytes | str] = (),
        listen: Sequence[int] = (),
    ) -> list[Channel]:
        """Send an order; the channels that it opens, one for each "read" and "written" among its
        descriptors. Bytes are what can be read of a descriptor at once.

        Raises:
            trio.BrokenResourceError: the container is gone.
        """
        listed: list[tuple[int, int | str]] = []
        opened, contents = [], [packed]
        for descriptor in descriptors:
            if isinstance(descriptor, bytes):
                listed.append((0, len(descriptor)))
                contents.append(descriptor)
            else:
                self._next += 1
                opened.append(self._channel(self._next))
                listed.append((self._next, descriptor))
        said: AgentOrder = {"order": name, "size": len(packed), "channels": listed}
        if listen:
            said["listen"] = list(listen)
        await self.send(ORDER, 0, pack(said, b"".join(contents)))
        return opened

    async def send(self, kind: int, channel: int, content: bytes = b"") -> None:
        self.check()
        async with self._sending:
            await self._stream.send_all(frame(kind, channel, content))

    async def message(self) -> FromAgent:
        """Return the agent's next message; None if it is gone.

        All earlier output of programs has then been passed on, if a reader takes it in time.
        """
        try:
            said = await self._messages.receive()
        except trio.EndOfChannel:
            return {}
        await self.flush()
        return said

    async def flush(self, below: float = math.inf) -> None:
        """Wait until all data of channels with lower numbers is passed on, or it takes too long."""
        with trio.move_on_after(FLUSH_S_MAX):
            while any(c.undelivered for c in self._channels.values() if c.number < below):
                if self.delivered.is_set():
                    self.delivered = trio.Event()
                await self.delivered.wait()

    def start(self, task: Callable[[], Awaitable[None]]) -> None:
        """Run a task for as long as this link is open."""
        with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            self._work.send_nowait(task)

    async def _attend(self) -> None:
        async with trio.open_nursery() as nursery:
            async for task in self._to_do:
                nursery.start_soon(_unless_gone, task)

    async def _receive(self) -> None:
        """Receive frames. The engine separates both outputs: an 8-byte head before each piece."""
        held = bytearray()
        while chunk := await self._stream.receive_some(CHUNK_BYTES * 4):
            held += chunk
            while len(held) >= 8 and len(held) >= 8 + (size := int.from_bytes(held[4:8], "big")):
                piece, output = bytes(held[8 : 8 + size]), held[0]
                del held[: 8 + size]
                if output == 1:
                    for kind, number, content in self._frames.feed(piece):
                        self._take(kind, number, content)
                else:
                    self._complaint += piece
                    del self._complaint[:-COMPLAINT_BYTES_MAX]

    def _take(self, kind: int, number: int, content: bytes) -> None:
        if kind == MESSAGE:
            self._understand(check_message(unpack(content)[0], FromAgent))
        elif number in self._files:
            if kind == DATA:
                self._files[number].write(content)
            else:
                self._files.pop(number).close()
        elif (channel := self._channels.get(number)) is not None:
            if kind == DATA:
                channel.undelivered += len(content)
                channel.incoming.send_nowait(content)
            elif kind == END:
                channel.incoming.close()
            elif kind == ACK:
                channel.room += parse_acknowledged(content)
                channel.wake()

    def _understand(self, said: FromAgent) -> None:
        if "connected" in said:
            channel = self._channel(said["channel"])
            if self.connected:
                connected, port = self.connected, said["connected"]
                self.start(lambda: connected(port, channel))
            return
        if "channels" in said:
            fds = []
            for number in said["channels"]:
                file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - closed at its end
                self._files[number] = file
                fds.append(os.open(f"/proc/self/fd/{file.fileno()}", os.O_RDONLY | os.O_CLOEXEC))
            said["fds"] = fds
        self._told.send_nowait(said)

    def _channel(self, number: int) -> Channel:
        incoming, arrived = trio.open_memory_channel[bytes](math.inf)
        self._channels[number] = Channel(number, self, incoming, arrived)
        return self._channels[number]


async def _unless_gone(task: Callable[[], Awaitable[None]]) -> None:
    with contextlib.suppress(*GONE):
        await task()
