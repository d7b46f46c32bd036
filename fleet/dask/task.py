"""What a Dask worker is asked to run: one order. All that comes back is plain data.

A small order goes in the task, a large one lies among the cluster's files. What came of it is the
task's answer, with small files in it.

A scheduler that lacks our modules passes it on, for it goes as a name until a worker calls it.
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


FUNCTION: Final = f"{__name__}:execute"
PLUGIN: Final = "context-mode"
"""The name by which a Dask worker of ours has its `OrderDoer`."""
CARRIED_BYTES_MAX: Final = 16 << 10
"""Of an order in a task."""
SentOrder = bytes | tuple[str, int]
"""The sealed bytes of an order; or their hash and size."""


class NoWorkerError(Exception):
    """The process that was given an order is not a worker of ours."""


def count_resources(offers: Iterable[str], count: int = 1) -> dict[str, float]:
    """Count a place for each of `count` orders, and that often what they need or a worker offers.

    Dask gives an order to a worker that has all of them left, so they run out together.
    """
    return dict.fromkeys(("run", *offers), float(count))


def execute(run_id: str, order: SentOrder, timeout_s: float) -> dict[str, Any]:
    """Do an order in a thread of a Dask worker.

    The answer has `worker`, and `files` as hash and size by path with the `contents` of small ones;
    or `cause` and `detail`.

    Raises:
        NoWorkerError: this Dask worker is none of ours.
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
