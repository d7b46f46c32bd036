"""Lines over two file descriptors, without a thread.

Handing a line to a thread takes longer than reading it, and other tasks run in between. A thread
that waits in a read cannot be stopped. A ready descriptor is read or written once, which does not
block. So its flags stay: non-blocking would break the shell that shares a terminal.
"""

from __future__ import annotations

import os
import select

import trio

READ_BYTES = 256 * 1024
WRITE_BYTES = select.PIPE_BUF
"""What a pipe that is ready takes at once (pipe(7)); a larger piece may have to wait."""


class LineReader:
    """The lines of a descriptor that nobody else reads."""

    def __init__(self, fd: int, bytes_max: int) -> None:
        self._fd = fd
        self._bytes_max = bytes_max
        self._held = bytearray()

    async def line(self) -> bytes:
        """Read the next line with its end, the last one maybe without; empty when there is none. Of
        a line above `bytes_max`, only one byte more than these is kept."""
        cut = b""
        searched = 0
        while not (end := self._held.find(b"\n", searched) + 1):
            if len(self._held) > self._bytes_max:
                cut = cut or bytes(self._held[: self._bytes_max + 1])
                self._held.clear()
            searched = len(self._held)
            if not await self._read_more():
                end = searched
                break
        line = cut or bytes(self._held[: min(end, self._bytes_max + 1)])
        del self._held[:end]
        return line

    async def _read_more(self) -> bool:
        if _is_ready(self._fd, select.POLLIN):
            await trio.lowlevel.checkpoint()
        else:
            await trio.lowlevel.wait_readable(self._fd)
        chunk = os.read(self._fd, READ_BYTES)
        self._held += chunk
        return bool(chunk)


async def write(fd: int, data: bytes) -> None:
    """Write all of it; OSError if nobody reads any more."""
    left = memoryview(data)
    while left:
        if not _is_ready(fd, select.POLLOUT):
            await trio.lowlevel.wait_writable(fd)
        left = left[os.write(fd, left[:WRITE_BYTES]) :]


def _is_ready(fd: int, event: int) -> bool:
    """Tell whether reading or writing would not wait; files and the null device are always
    ready."""
    poll = select.poll()
    poll.register(fd, event)
    return bool(poll.poll(0))
