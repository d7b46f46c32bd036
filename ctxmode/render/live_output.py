"""Live output of a run on this process's stdout and stderr."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import BinaryIO

import trio

from ctxmode.render.terminal_output import OutputScreen, is_runner_log

OnProgress = Callable[[int, int], None]
"""Called with the number of finished items and the total."""


def ignore_progress(done: int, total: int) -> None:
    """Ignore progress."""


@contextmanager
def waiting(what: str) -> Iterator[OnProgress]:
    """Show `what` on stderr until the block ends; yield a function that updates the progress."""
    if not sys.stderr.isatty():
        yield ignore_progress
        return
    from rich.console import Console  # noqa: PLC0415 - for people only

    with Console(stderr=True).status(f"{what} …") as status:
        yield lambda done, total: status.update(f"{what}: {done} of {total} …")


Chunk = tuple[str, bytes]


class LiveOutput:
    """Writer that queues chunks and writes them in a thread, so that a slow reader delays no
    deadline. The run's output limit bounds the queue. A terminal gets only text and colours, and a
    CI runner's log gets no commands."""

    def __init__(self, sinks: dict[str, BinaryIO], send: trio.MemorySendChannel[Chunk]) -> None:
        self._sinks = sinks
        self._send = send
        self._screens = {
            name: OutputScreen(is_terminal=sink.isatty(), is_log=is_runner_log(sink))
            for name, sink in sinks.items()
            if sink.isatty() or is_runner_log(sink)
        }

    @classmethod
    @asynccontextmanager
    async def open(cls, stdout: BinaryIO, stderr: BinaryIO) -> AsyncIterator[LiveOutput]:
        """Open the output; the block ends after everything is written. If the reader has closed the
        pipe, the block is cancelled with BrokenPipeError."""
        send, receive = trio.open_memory_channel[Chunk](float("inf"))
        output = cls({"stdout": stdout, "stderr": stderr}, send)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(output._write, receive)
            async with send:
                yield output

    def feed(self, stream: str, chunk: bytes) -> None:
        """Queue a chunk of one stream of the run."""
        self._send.send_nowait((stream, chunk))

    async def _write(self, receive: trio.MemoryReceiveChannel[Chunk]) -> None:
        async with receive:
            async for stream, chunk in receive:
                screen = self._screens.get(stream)
                await self._put(stream, screen.feed(chunk) if screen else chunk)
        for stream, screen in self._screens.items():
            await self._put(stream, screen.feed(b"", final=True))

    async def _put(self, stream: str, chunk: bytes) -> None:
        if chunk:
            await trio.to_thread.run_sync(
                _write_all, self._sinks[stream], chunk, abandon_on_cancel=True
            )


def _write_all(sink: BinaryIO, chunk: bytes) -> None:
    sink.write(chunk)
    sink.flush()
