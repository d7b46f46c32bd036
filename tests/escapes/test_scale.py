"""What a server is left with after many runs, and after floods."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import trio

from executor import Limits, Status
from tests.escapes.arena import Arena
from tests.escapes.attack import shell
from tests.processes import DEADLINE_S, descriptors_in_use

MIB = 1024 * 1024
RUNS = 1000
WAITING_MAX = 100  # descriptors of what is made or taken away just now: a tenth of one a run
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def resident_bytes() -> int:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE_BYTES


async def runs(arena: Arena, count: int) -> None:
    """That many, four at a time."""
    left = iter(range(count))

    async def worker() -> None:
        for number in left:
            result = await arena.run(shell(f"echo {number}"))
            assert result.stdout.text == f"attack started\n{number}\n", result.message

    async with trio.open_nursery() as nursery:
        for _ in range(4):
            nursery.start_soon(worker)


async def open_files(arena: Arena, at_most: int) -> int:
    """How many descriptors are open, once the last cell is buried."""
    with trio.move_on_after(DEADLINE_S):
        while descriptors_in_use(arena.executor) > at_most:  # noqa: ASYNC110 - nobody tells
            await trio.sleep(0.01)
    return descriptors_in_use(arena.executor)


async def test_a_thousand_runs_leave_no_descriptor_and_no_memory(arena: Arena):
    await runs(arena, 50)  # until caches are warm
    await trio.testing.wait_all_tasks_blocked(0.1)
    files, memory = descriptors_in_use(arena.executor), resident_bytes()
    await runs(arena, RUNS)
    assert await open_files(arena, files + WAITING_MAX) <= files + WAITING_MAX
    assert resident_bytes() - memory < 10 * MIB


async def test_a_flood_of_a_gibibyte_is_counted_and_leaves_no_memory(arena: Arena):
    """Beyond the output limit the run is ended; below it every byte is counted."""
    await runs(arena, 5)
    memory = resident_bytes()
    flood = shell("head -c 1073741824 /dev/zero")
    capped = await arena.run(flood, limits=Limits(wall_s=60))
    assert capped.status is Status.OUTPUT_LIMIT
    limit = Limits().output_bytes
    assert limit < capped.stdout.bytes_total < limit + 8 * MIB
    shown = len(capped.stdout.head.encode()) + len(capped.stdout.tail.encode())
    assert shown + capped.stdout.bytes_omitted == capped.stdout.bytes_total
    assert resident_bytes() - memory < 32 * MIB
    # In blocks, so that the count is of what the program wrote and not of what was read.
    whole = await arena.run(
        flood, limits=Limits(wall_s=60, output_bytes=2 << 30, file_bytes=2 << 30)
    )
    assert whole.status is Status.OK
    assert whole.stdout.bytes_total == len("attack started\n") + (1 << 30)
    assert resident_bytes() - memory < 32 * MIB
