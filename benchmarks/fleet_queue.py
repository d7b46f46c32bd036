"""How much memory runs take at a front while they wait: in its journal, in turn, by their callers.

The bar: 10,000 that wait add at most 100 MB. Measured is resident memory of a process that does
nothing else.
"""

from __future__ import annotations

import functools
import gc
import multiprocessing
import os
from contextlib import closing
from pathlib import Path

import trio
import trio.testing

from benchmarks.report import Report
from executor.model import Request
from fleet.journal import Accepted, Journal
from fleet.turns import Turns

CODE_BYTES = 2_000
ORDER_BYTES = 6_000
AT_ONCE = 64
BAR_MB = 100
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def measure(folder: Path, report: Report, waiting: str) -> None:
    """Add the memory of so many waiting runs to a report."""
    with multiprocessing.get_context("spawn").Pool(1) as alone:
        report.figures |= alone.apply(measure_here, (folder, int(waiting)))
    report.notes += (
        f"{int(waiting):,} runs of one owner, orders of {ORDER_BYTES:,} bytes, code of"
        f" {CODE_BYTES:,}; the bar is {BAR_MB} MB for 10,000",
    )


def measure_here(folder: Path, waiting: int) -> dict[str, float]:
    """Megabytes that this process grows by: by journal and turns, then by callers that wait."""
    return trio.run(_fill, folder, waiting)


async def _fill(folder: Path, waiting: int) -> dict[str, float]:
    turns = Turns(AT_ONCE)
    callers: list[tuple[Request, trio.Event]] = []
    with closing(Journal(folder / "journal.sqlite3", "front")) as journal:
        await _accept(journal, turns, range(-AT_ONCE, 0))  # what is allocated once, whatever comes
        before = _resident_bytes()
        # Callers come a few at once, as by connections: all at once is no queue but a flood.
        await _accept(journal, turns, range(waiting))
        queued = _resident_bytes()
        async with trio.open_nursery() as nursery:
            for number in range(waiting):
                caller = (Request("python", _code(number)), trio.Event())
                callers.append(caller)
                nursery.start_soon(_wait, *caller)
            await trio.testing.wait_all_tasks_blocked()
            called = _resident_bytes()
            nursery.cancel_scope.cancel()
    return {
        "waiting": waiting,
        "added_mb_by_journal_and_turns": (queued - before) / 1e6,
        "added_mb_with_a_caller_each": (called - before) / 1e6,
    }


async def _accept(journal: Journal, turns: Turns, numbers: range) -> None:
    async def accept(first: int) -> None:
        for number in numbers[first::AT_ONCE]:
            run = f"run-{number:08}"
            await journal.accept(Accepted(run, "owner", os.urandom(ORDER_BYTES), 2e9), 10**9)
            turns.add(run, "owner", float(number))

    async with trio.open_nursery() as nursery:
        for first in range(AT_ONCE):
            nursery.start_soon(functools.partial(accept, first))


async def _wait(request: Request, answered: trio.Event) -> None:
    await answered.wait()
    del request


def _code(number: int) -> str:
    return f"# {number}\n".ljust(CODE_BYTES, "x")


def _resident_bytes() -> int:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE_BYTES
