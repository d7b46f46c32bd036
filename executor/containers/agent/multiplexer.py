"""Between the server's stream and the supervisor's socket, pipes and listeners: moves bytes."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import socket
from dataclasses import dataclass, field
from pathlib import Path

from executor.spawner.messages import ConsumptionMessage

from .messages import (
    ACK,
    ACK_BYTES,
    AGENT_CHANNELS,
    CHUNK_BYTES,
    DATA,
    END,
    MESSAGE,
    ORDER,
    WINDOW_BYTES,
    BrokenStreamError,
    Frames,
    FromAgent,
    frame,
    pack,
    parse_acknowledged,
)
from .supervision import carry_out

GROUPS = Path("/sys/fs/cgroup")  # version 2: the container's own group; version 1: one a controller
MEMORY_PEAK = ("memory.peak", "memory/memory.max_usage_in_bytes")
MEMORY_EVENTS = ("memory.events", "memory/memory.oom_control")
PROCESS_EVENTS = ("pids.events", "pids/pids.events")

SERVER_IN, SERVER_OUT = 0, 1
PIPE_BYTES = 1024 * 1024
MESSAGE_BYTES_MAX = 1 << 20
FDS_MAX = 253  # SCM_MAX_FD
CONNECTIONS_MAX = 256
READABLE, WRITABLE, BROKEN = select.POLLIN, select.POLLOUT, select.POLLHUP | select.POLLERR


@dataclass(slots=True)
class AgentChannel:
    """One numbered flow of bytes. Of a connection both descriptors are the same socket's."""

    number: int
    source: int = -1  # what is read here goes to the server
    target: int = -1  # what the server sends is written here
    room: int = WINDOW_BYTES  # bytes that may still be sent
    delivered: int = 0  # bytes written and not yet acknowledged
    pending: bytearray = field(default_factory=bytearray)
    ending: bool = False  # nothing comes behind what is pending


class Multiplexer:
    """A thread next to the supervisor; neither waits for the other."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._listeners: dict[int, tuple[socket.socket, int]] = {}
        self._channels: dict[int, AgentChannel] = {}
        self._next = AGENT_CHANNELS
        self._frames = Frames()
        self._supervised = True

    def serve(self) -> None:
        """Serve until the supervisor has ended and all is sent, or the server is gone."""
        try:
            while self._supervised:
                self._turn()
        except (OSError, BrokenStreamError):
            pass  # the server is gone, or speaks another language: the same to us
        finally:
            self._control.close()  # the supervisor takes it for an order to end

    def _turn(self) -> None:
        poller = select.poll()
        poller.register(SERVER_IN, READABLE)
        poller.register(self._control, READABLE)
        sources, targets = {}, {}
        for fd in self._listeners:
            poller.register(fd, READABLE)
        for channel in self._channels.values():
            wanted: dict[int, int] = {}
            if channel.source >= 0 and channel.room > 0:
                wanted[channel.source] = READABLE
                sources[channel.source] = channel
            if channel.target >= 0 and channel.pending:
                wanted[channel.target] = wanted.get(channel.target, 0) | WRITABLE
                targets[channel.target] = channel
            for fd, events in wanted.items():
                poller.register(fd, events)
        ready = dict(poller.poll())
        for fd, events in ready.items():
            if fd in targets and events & (WRITABLE | BROKEN):
                self._write(targets[fd])
            if fd in sources and events & (READABLE | BROKEN):
                self._read(sources[fd])
            if fd in self._listeners:
                self._accept(fd)
        if SERVER_IN in ready:
            self._obey()
        if self._control.fileno() in ready:
            self._tell()

    def _obey(self) -> None:
        data = os.read(SERVER_IN, CHUNK_BYTES * 4)
        if not data:
            raise BrokenStreamError("the server has hung up")
        for kind, number, content in self._frames.feed(data):
            if kind == ORDER:
                read, written, listeners = carry_out(content, self._control)
                for port, listener in listeners:
                    self._listeners[listener.fileno()] = (listener, port)
                for name, ours in written:
                    self._open(name, source=ours)
                for name, ours in read:
                    self._open(name, target=ours)
                continue
            channel = self._channels.get(number)
            if channel is None:
                continue  # it has just been closed here
            if kind == DATA and channel.target >= 0:
                channel.pending += content
            elif kind == END:
                channel.ending = True
                self._finish_writing(channel)
            elif kind == ACK:
                channel.room += parse_acknowledged(content)

    def _tell(self) -> None:
        """Pass on the supervisor's messages, after all earlier output of programs."""
        data, fds, _, _ = socket.recv_fds(self._control, MESSAGE_BYTES_MAX, FDS_MAX)
        for channel in list(self._channels.values()):
            if channel.number < AGENT_CHANNELS:
                self._drain(channel)
        if not data:
            self._supervised = False
            return
        said: FromAgent = json.loads(data)
        said["consumption"] = _read_consumption()
        numbers = []
        for _ in fds:
            self._next += 1
            numbers.append(self._next)
        if fds:
            said["channels"] = numbers
        self._send(MESSAGE, 0, pack(said))
        for number, fd in zip(numbers, fds, strict=True):
            while chunk := os.read(fd, CHUNK_BYTES):
                self._send(DATA, number, chunk)
            self._send(END, number)
            os.close(fd)

    def _drain(self, channel: AgentChannel) -> None:
        """Read the present content of a pipe; the kernel bounds its size."""
        with contextlib.suppress(BlockingIOError):
            while channel.source >= 0:
                self._read_once(channel)

    def _read(self, channel: AgentChannel) -> None:
        """Read the next data of one channel, after data written to channels opened before it.

        A program's output comes before its interpreter's answer.
        """
        for earlier in list(self._channels.values()):
            if earlier.number < channel.number < AGENT_CHANNELS:
                self._drain(earlier)
        with contextlib.suppress(BlockingIOError):
            self._read_once(channel)

    def _read_once(self, channel: AgentChannel) -> None:
        try:
            chunk = os.read(channel.source, CHUNK_BYTES)
        except ConnectionError:
            chunk = b""
        if chunk:
            channel.room -= len(chunk)
            self._send(DATA, channel.number, chunk)
            return
        self._send(END, channel.number)
        if channel.source != channel.target:
            os.close(channel.source)
        channel.source = -1
        self._forget(channel)

    def _write(self, channel: AgentChannel) -> None:
        try:
            written = os.write(channel.target, channel.pending[:CHUNK_BYTES])
        except BlockingIOError:
            return
        except OSError:  # its reader is gone: what it would have got is let go
            written = len(channel.pending)
            channel.ending = True
        del channel.pending[:written]
        channel.delivered += written
        if channel.delivered >= ACK_BYTES:
            self._send(ACK, channel.number, channel.delivered.to_bytes(8, "big"))
            channel.delivered = 0
        self._finish_writing(channel)

    def _finish_writing(self, channel: AgentChannel) -> None:
        if not channel.ending or channel.pending or channel.target < 0:
            return
        if channel.number >= AGENT_CHANNELS and channel.source >= 0:
            with socket.socket(fileno=os.dup(channel.target)) as half, contextlib.suppress(OSError):
                half.shutdown(socket.SHUT_WR)
        else:
            os.close(channel.target)
        channel.target = -1
        self._forget(channel)

    def _forget(self, channel: AgentChannel) -> None:
        if channel.source < 0 and channel.target < 0:
            del self._channels[channel.number]

    def _accept(self, fd: int) -> None:
        listener, port = self._listeners[fd]
        connections = sum(number >= AGENT_CHANNELS for number in self._channels)
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        if connections >= CONNECTIONS_MAX:
            connection.close()
            return
        self._next += 1
        both = connection.detach()
        self._open(self._next, source=both, target=both)
        self._send(MESSAGE, 0, pack({"connected": port, "channel": self._next}))

    def _open(self, number: int, *, source: int = -1, target: int = -1) -> None:
        for fd in {source, target} - {-1}:
            os.set_blocking(fd, False)
        if source >= 0 and target < 0:
            with contextlib.suppress(OSError):
                fcntl.fcntl(source, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        self._channels[number] = AgentChannel(number, source, target)

    def _send(self, kind: int, channel: int, content: bytes = b"") -> None:
        data = memoryview(frame(kind, channel, content))
        while data:
            data = data[os.write(SERVER_OUT, data) :]


def _read_consumption() -> ConsumptionMessage:
    """Return what the container's control group counted; what nothing tells is none or nought."""
    peak = _first(MEMORY_PEAK)
    oom_kills = _event(_first(MEMORY_EVENTS), "oom_kill")
    refusals = _event(_first(PROCESS_EVENTS), "max")
    return int(peak) if peak.isdigit() else None, oom_kills, refusals


def _first(names: tuple[str, ...]) -> str:
    for name in names:
        try:
            return (GROUPS / name).read_text().strip()
        except OSError:
            continue
    return ""


def _event(text: str, name: str) -> int:
    words = text.split()
    pairs = dict(zip(words[::2], words[1::2]))  # noqa: B905 - what is odd at the end names nothing
    return int(pairs.get(name, 0))
