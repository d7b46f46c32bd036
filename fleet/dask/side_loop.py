"""A loop of asyncio in a thread of its own, and what trio asks of it."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, Final, TypeVar

import trio

_END_S: Final = 5.0
T = TypeVar("T")


class SideLoop:
    """A loop that runs; no thread waits for what is asked of it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    async def run(self, function: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Await what is asyncio's; cancelling this cancels it.

        Raises:
            Exception: whatever it raises.
        """
        token, ended = trio.lowlevel.current_trio_token(), trio.Event()

        def tell(_: object) -> None:
            with contextlib.suppress(trio.RunFinishedError):
                token.run_sync_soon(ended.set)

        future = asyncio.run_coroutine_threadsafe(function(), self._loop)
        future.add_done_callback(tell)
        try:
            await ended.wait()
        finally:
            future.cancel()
        return future.result()


@contextlib.asynccontextmanager
async def open_side_loop(name: str) -> AsyncIterator[SideLoop]:
    """Run a loop beside the block; what is left in it is cancelled then."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=_serve, args=(loop,), name=name, daemon=True)
    thread.start()
    try:
        yield SideLoop(loop)
    finally:
        with trio.CancelScope(shield=True):
            loop.call_soon_threadsafe(loop.stop)
            await trio.to_thread.run_sync(functools.partial(thread.join, _END_S))


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.wait(left, timeout=_END_S / 2))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()
