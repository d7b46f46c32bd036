"""Frames of known length between a process and its workers."""

from __future__ import annotations

import errno
import socket
import struct

_LENGTH = struct.Struct(">Q")
_READ_BYTES = 1024 * 1024


def send(connection: socket.socket, *frames: bytes) -> None:
    """Send whole frames.

    Raises:
        OSError: the other side is gone, or took nothing within the connection's time limit.
    """
    for frame in frames:
        connection.sendall(_LENGTH.pack(len(frame)))
        connection.sendall(frame)


def receive(connection: socket.socket, most: int | None = None) -> bytes:
    """One whole frame, of `most` bytes where that is given.

    Raises:
        EOFError: the other side is gone.
        OSError: nothing came within the connection's time limit, or the frame is too long.
    """
    (length,) = _LENGTH.unpack(_exactly(connection, _LENGTH.size))
    if most is not None and length > most:
        raise OSError(errno.EMSGSIZE, f"a frame of {length} bytes, over {most}")
    return _exactly(connection, length)


def _exactly(connection: socket.socket, length: int) -> bytes:
    data = bytearray()
    while len(data) < length:
        part = connection.recv(min(length - len(data), _READ_BYTES))
        if not part:
            raise EOFError("the other side closed the connection")
        data += part
    return bytes(data)
