"""Frames between processes: a length and a content, which may be named tuples as JSON.

Not framed this way: the spawner's sockets preserve the bounds of messages, and it loads no module
of the program (`executor/spawner/messages.py`). A container's agent has one stream for many
channels (`executor/containers/agent/messages.py`). Orders to other machines are read by strangers
(`fleet/model.py`).
"""

from __future__ import annotations

import errno

TYPE_CHECKING = False  # loading `typing` takes a hook 5 ms
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from typing import Any

LENGTH_BYTES = 8
_READ_BYTES = 1024 * 1024
_JOINED_BYTES = 64 * 1024
"""Frames up to this size together are sent at once: a small one costs more calls than bytes."""


def encode(value: object) -> bytes:
    """Write named tuples as JSON; msgspec's own encoder refuses half characters in file names."""
    import json  # noqa: PLC0415 - here and below: a hook does without

    import msgspec  # noqa: PLC0415

    return json.dumps(msgspec.to_builtins(value, enc_hook=dict)).encode()


def decode(kind: Any, content: bytes, hook: Callable[[type, Any], Any] | None = None) -> Any:  # noqa: ANN401 - msgspec takes what is not a class, too
    """Decode a value of a kind from the output of `encode`; `hook` converts what msgspec can't.

    Raises:
        ValueError: it is not of this kind. RecursionError: it is nested too deep.
    """
    import json  # noqa: PLC0415

    import msgspec  # noqa: PLC0415

    return msgspec.convert(json.loads(content), kind, dec_hook=hook)


def to_frame(content: bytes) -> bytes:
    """Return a frame: the length of its content, and that."""
    return len(content).to_bytes(LENGTH_BYTES, "big") + content


def take_frame(data: bytearray) -> bytes | None:
    """Remove the content of the first frame from the data; return None while it is incomplete."""
    end = LENGTH_BYTES + int.from_bytes(data[:LENGTH_BYTES], "big")
    if len(data) < end:
        return None
    frame = bytes(data[LENGTH_BYTES:end])
    del data[:end]
    return frame


def send(connection: socket.socket, *contents: bytes) -> None:
    """Send whole frames.

    Raises:
        OSError: the other side is gone, or took nothing within the connection's time limit.
    """
    if sum(map(len, contents)) <= _JOINED_BYTES:
        connection.sendall(b"".join(map(to_frame, contents)))
        return
    for content in contents:
        connection.sendall(len(content).to_bytes(LENGTH_BYTES, "big"))
        connection.sendall(content)


def receive(connection: socket.socket, most: int | None = None) -> bytes:
    """Receive one whole frame, of up to `most` bytes if that is given.

    Raises:
        EOFError: the other side is gone.
        OSError: nothing came within the connection's time limit, or the frame is too long.
    """
    length = int.from_bytes(_receive_exactly(connection, LENGTH_BYTES), "big")
    if most is not None and length > most:
        raise OSError(errno.EMSGSIZE, f"a frame of {length} bytes, over {most}")
    return _receive_exactly(connection, length)


def _receive_exactly(connection: socket.socket, length: int) -> bytes:
    data = connection.recv(min(length, _READ_BYTES)) if length else b""
    if len(data) == length:  # as of nearly every frame
        return data
    whole = bytearray(data)
    while data and len(whole) < length:
        data = connection.recv(min(length - len(whole), _READ_BYTES))
        whole += data
    if not data:
        raise EOFError("the other side closed the connection")
    return bytes(whole)
