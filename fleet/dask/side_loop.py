"""A loop of asyncio in a thread of its own, for what is Dask's."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any, Final

import trio
from anyio.from_thread import start_blocking_portal

_END_S: Final = 5.0
Ask = Callable[..., Awaitable[Any]]
"""Calls a function with arguments in the loop, and awaits what it gives. Cancelling this cancels
that, and waits for nothing; no thread waits either."""


@contextlib.asynccontextmanager
async def open_side_loop(name: str) -> AsyncIterator[Ask]:
    """Run a loop beside the block; what is left in it is cancelled then."""
    opened = start_blocking_portal("asyncio", name=name)
    loop = await trio.to_thread.run_sync(opened.__enter__)
    try:
        yield partial(loop.call_async, abandon_on_cancel=True)
    finally:
        end = partial(opened.__exit__, None, None, None)
        with trio.move_on_after(_END_S, shield=True):
            with contextlib.suppress(RuntimeError):  # it has ended by itself
                loop.start_task_soon(loop.stop, True)  # which cancels what is left
            await trio.to_thread.run_sync(end, abandon_on_cancel=True)
