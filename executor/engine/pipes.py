"""The descriptors of a run: what it reads from, and the pipes that it writes to."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

PIPE_BYTES = 1024 * 1024
OUTPUTS = ("stdout", "stderr")


def pipe(owner: tuple[int, int]) -> tuple[int, int]:
    """A pipe with room for bursts, as far as the user's allowance goes.

    It is the program's own, who may open it by name, as in `echo >/dev/stderr`.
    """
    reader, writer = os.pipe2(os.O_CLOEXEC)
    os.fchown(writer, *owner)
    with contextlib.suppress(OSError):
        fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    return reader, writer


def to_read(content: bytes | None) -> int:
    """A program's standard input."""
    return nothing_to_read() if content is None else anonymous_file(content)


def nothing_to_read() -> int:
    return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)


def anonymous_file(content: bytes) -> int:
    """A descriptor of an unnamed file in memory with this content, at its start."""
    fd = os.memfd_create("ctxmode", os.MFD_CLOEXEC)
    with open(os.dup(fd), "wb") as out:
        out.write(content)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


@dataclass(frozen=True, slots=True)
class Stdio:
    """The server's ends of a run's streams, made before the run is known."""

    readers: Mapping[str, int]
    stdin: int | None  # a file in memory; None if there is nothing to read

    def close(self) -> None:
        for fd in (*self.readers.values(), *(() if self.stdin is None else (self.stdin,))):
            os.close(fd)


async def start_with_pipes(
    run: Callable[[bytes, Sequence[int]], Awaitable[None]],
    packed: bytes,
    stdin: bytes | None,
    owner: tuple[int, int],
) -> dict[str, int]:
    """Start a run with pipes for its output; their reading ends by name.

    Raises:
        SandboxError: the box is gone.
    """
    source = to_read(stdin)
    readers, writers = {}, []
    for name in OUTPUTS:
        readers[name], writer = pipe(owner)
        writers.append(writer)
    try:
        await run(packed, (source, *writers))
    except BaseException:
        for reader in readers.values():
            os.close(reader)
        raise
    finally:
        for fd in (source, *writers):
            os.close(fd)
    return readers
