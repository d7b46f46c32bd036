"""What passes between the server and the spawner's processes, and how it is packed.

The first message to the spawner is the set-up (JSON); the answer says where paths were staged.
Every later message asks for a cell, with namespaces or without, and brings its control socket. On
that socket the spawner says {"pid": N} (with a pidfd) or {"unmade": reason}; when the server sends
`make` with a description, the cell's supervisor says {"ready": layers}; the server sends `run` with
a description and stdin, stdout, stderr, later perhaps `stop`; the supervisor ends with {"exit": …}
or {"error": …}. With `hold` before `run`, what is known of the run and its three descriptors come
ahead; the supervisor says {"held": bytes of memory} when the program waits, and {"lost": why} in
place of an exit if it was gone when `run` came. In a session `begin`, `run`, `interrupt` and
`report` come again and again, each with a description; the supervisor says {"begun": folders},
{"run": N, "exit": …} and {"report": …}, at last {"ended": …}. Where changes are committed, the
descriptor of the view's upper layer comes with {"exit"}, {"report"} and {"ended"}.

All sockets are SOCK_SEQPACKET. Descriptions come as files in memory, so that no socket's size limit
applies: an 8-byte length, JSON, raw blobs. None of it is inherited by the program, which owns just
descriptors 0, 1 and 2: whatever it prints is output, never protocol. (A session's interpreter has
two more, for what `executor.sessions.interpreter` says.)
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

from .kernel import StepError
from .messages import Blob, FromSupervisor, SetUpAnswer

D_co = TypeVar("D_co", bound=Mapping[str, object], covariant=True)
MESSAGE_BYTES_MAX = 1 << 20
CELL, NAMESPACED_CELL = b"cell", b"cell with namespaces"


class Description(Generic[D_co]):
    """The JSON of a description, and its blobs by reference."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        (length,) = struct.unpack("=Q", os.pread(fd, 8, 0))
        self._blobs = 8 + length
        self._data: D_co = json.loads(self._read(8, length))

    @property
    def data(self) -> D_co:
        """The description proper."""
        return self._data

    def blob(self, where: Blob) -> bytes:
        offset, size = where
        return self._read(self._blobs + offset, size)

    def _read(self, offset: int, size: int) -> bytes:
        parts = []
        while size > 0:
            part = os.pread(self._fd, min(size, 1 << 20), offset)
            if not part:
                raise StepError("a description is shorter than it says")
            parts.append(part)
            size -= len(part)
            offset += len(part)
        return b"".join(parts)


def send(
    control: socket.socket, message: FromSupervisor | SetUpAnswer, fds: Sequence[int] = ()
) -> None:
    """Tell the server; if it is gone there is nobody to tell, and the caller ends as well.

    Raises:
        OSError: the kernel does not pass it on.
    """
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        socket.send_fds(control, [json.dumps(message).encode()], fds)
