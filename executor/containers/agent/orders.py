"""Orders of the server, made into what the supervisor understands: files in memory and pipes."""

from __future__ import annotations

import fcntl
import os
import socket
from dataclasses import dataclass, field
from typing import cast

from .frames import unpack
from .messages import AgentOrder

NO_CHANGE = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SEAL


@dataclass(slots=True)
class Opened:
    """The agent's ends of what an order opened, by the numbers of their channels."""

    read: list[tuple[int, int]] = field(default_factory=list)  # the program reads what we write
    written: list[tuple[int, int]] = field(default_factory=list)
    listeners: list[tuple[int, socket.socket]] = field(default_factory=list)  # by port


def carry_out(content: bytes, control: socket.socket) -> Opened:
    """Pass an order on, its descriptors being made here.

    Raises:
        OSError: the supervisor is gone, or there are no descriptors left.
    """
    said, blob = unpack(content)
    order = cast("AgentOrder", said)  # the server is trusted
    opened = Opened()
    if order["order"] == "stop":
        control.send(b"stop")
        return opened
    size: int = order["size"]
    fds = [_in_memory(blob[:size])]
    rest = blob[size:]
    for number, kind in order["channels"]:
        if kind == "read":
            reader, writer = os.pipe2(os.O_CLOEXEC)
            opened.read.append((number, writer))
            fds.append(reader)
        elif kind == "written":
            reader, writer = os.pipe2(os.O_CLOEXEC)
            opened.written.append((number, reader))
            fds.append(writer)
        elif isinstance(kind, int):
            fds.append(_in_memory(rest[:kind]) if kind else _nothing())
            rest = rest[kind:]
    for port in order.get("listen", ()):
        opened.listeners.append((port, _listener(port)))
    socket.send_fds(control, [order["order"].encode()], fds)
    for fd in fds:
        os.close(fd)
    return opened


def _in_memory(content: bytes) -> int:
    fd = os.memfd_create("ctxmode", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    view = memoryview(content)
    while view:
        view = view[os.write(fd, view) :]
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, NO_CHANGE)  # whoever may open it by /proc
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _nothing() -> int:
    return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)


def _listener(port: int) -> socket.socket:
    listener = socket.create_server(("127.0.0.1", port))
    listener.setblocking(False)
    return listener
