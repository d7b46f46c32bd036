"""Parallel work by a bounded number of workers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import trio

from ctxmode.render.terminal_output import OnProgress, ignore_progress

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


async def work_through(
    items: Sequence[Item],
    work: Callable[[Item], Awaitable[Outcome]],
    workers: int,
    on_progress: OnProgress = ignore_progress,
) -> tuple[Outcome, ...]:
    """Do the work for every item; return the results in the order of the items. A single worker
    processes them in that order."""
    found: dict[int, Outcome] = {}
    waiting = iter(enumerate(items))

    async def serve() -> None:
        for number, item in waiting:
            found[number] = await work(item)
            on_progress(len(found), len(items))

    async with trio.open_nursery() as nursery:
        for _ in range(max(1, min(workers, len(items)))):
            nursery.start_soon(serve)
    return tuple(found[number] for number in range(len(items)))
