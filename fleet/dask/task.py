"""The task of a Dask worker: one order. All answers are plain data.

A small order is part of the task, a large one is among the cluster's files. The outcome is the
task's answer, which includes small files.

The task names its function, which only a worker imports: a scheduler need not have our modules.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import trio
from distributed import get_worker

if TYPE_CHECKING:
    from fleet.dask.serving import OrderDoer
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial

from anyio.from_thread import start_blocking_portal

_END_S: Final = 5.0
Ask = Callable[..., Awaitable[Any]]
"""Calls a function with arguments in the loop, and awaits its result. Cancelling this cancels the
call without waiting for anything; no thread waits either."""


@contextlib.asynccontextmanager
async def open_side_loop(name: str) -> AsyncIterator[Ask]:
    """Run a loop next to the block; cancel its remaining tasks when the block ends."""
    opened = start_blocking_portal("asyncio", name=name)
    loop = await trio.to_thread.run_sync(opened.__enter__)
    try:
        yield partial(loop.call_async, abandon_on_cancel=True)
    finally:
        end = partial(opened.__exit__, None, None, None)
        with trio.move_on_after(_END_S, shield=True):
            with contextlib.suppress(RuntimeError):  # it has ended by itself
                loop.start_task_soon(loop.stop, True)  # which cancels the rest
            await trio.to_thread.run_sync(end, abandon_on_cancel=True)


FUNCTION: Final = f"{__name__}:execute"
PLUGIN: Final = "context-mode"
"""The name under which our Dask workers have their `OrderDoer`."""
CARRIED_BYTES_MAX: Final = 16 << 10
"""Limit of an order inside a task."""
SentOrder = bytes | tuple[str, int]
"""The sealed bytes of an order; or their hash and size."""


class NoWorkerError(Exception):
    """The process that received an order is not one of our workers."""


def count_resources(offers: Iterable[str], count: int = 1) -> dict[str, float]:
    """Count the Dask resources of `count` orders: each order's needs, or a worker's offers.

    Dask gives an order to a worker that has all of them left, so they run out together.
    """
    return dict.fromkeys(("run", *offers), float(count))


def execute(run_id: str, order: SentOrder, timeout_s: float) -> dict[str, Any]:
    """Do an order in a thread of a Dask worker.

    The answer has `worker`, and `files` as hash and size by path with the `contents` of small ones;
    or `cause` and `detail`.

    Raises:
        NoWorkerError: the Dask worker is not one of ours.
    """
    worker: Any = get_worker()  # untyped
    here: OrderDoer | None = worker.plugins.get(PLUGIN)
    if here is None:
        raise NoWorkerError(
            f"the Dask worker {worker.name} does no orders: start it by "
            "context-mode serve worker --cluster URL"
        )
    answer: dict[str, Any] = trio.from_thread.run(
        here.do, run_id, order, timeout_s, trio_token=here.token
    )
    return answer
