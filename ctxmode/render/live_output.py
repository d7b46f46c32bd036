"""Output of a run as it comes, on this process's own stdout and stderr."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import BinaryIO

import trio

from ctxmode.render.terminal_output import OutputScreen, is_runner_log

Chunk = tuple[str, bytes]


class LiveOutput:
    """Takes chunks at once and writes them in a thread, so that a slow reader delays no deadline.
    The run's output limit bounds what waits. A terminal gets text and colours
    only, and a CI runner's log no commands."""

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
        """Open it; all that was fed is written when the block ends. BrokenPipeError: the reader has
        left, and the block is cancelled."""
        send, receive = trio.open_memory_channel[Chunk](float("inf"))
        output = cls({"stdout": stdout, "stderr": stderr}, send)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(output._write, receive)
            async with send:
                yield output

    def feed(self, stream: str, chunk: bytes) -> None:
        """Take what one stream of the run has just printed."""
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
