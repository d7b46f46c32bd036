"""Frames of known length between a process and its workers."""

from __future__ import annotations

import errno
import socket
import struct

_LENGTH = struct.Struct(">Q")
_READ_BYTES = 1024 * 1024
_JOINED_BYTES = 64 * 1024
"""Frames of so many bytes together are sent at once: a small source costs more calls than bytes."""


def send(connection: socket.socket, *frames: bytes) -> None:
    """Send whole frames.

    Raises:
        OSError: the other side is gone, or took nothing within the connection's time limit.
    """
    pieces = [piece for frame in frames for piece in (_LENGTH.pack(len(frame)), frame)]
    if sum(map(len, pieces)) <= _JOINED_BYTES:
        pieces = [b"".join(pieces)]
    for piece in pieces:
        connection.sendall(piece)


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
    data = connection.recv(min(length, _READ_BYTES)) if length else b""
    if len(data) == length:  # as of nearly every frame
        return data
    return _continued(connection, bytearray(data), length)


def _continued(connection: socket.socket, data: bytearray, length: int) -> bytes:
    """A frame of which some is there; where that is nothing, the other side is gone."""
    if not data:
        raise EOFError("the other side closed the connection")
    while len(data) < length:
        part = connection.recv(min(length - len(data), _READ_BYTES))
        if not part:
            raise EOFError("the other side closed the connection")
        data += part
    return bytes(data)
