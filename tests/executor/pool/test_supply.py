"""Cells of ended runs: when the kernel's work of taking them down is done."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator

import pytest
import trio

from executor import Request
from executor.cells.making import Remains
from executor.pool import supply

PATIENCE_S = 60.0
HOLDING_MUCH = f"head -c {2 * supply.LINGERING_BYTES_MAX} /dev/zero > /tmp/large"


@pytest.fixture
def left(executor, monkeypatch) -> Iterator[list[int]]:
    """A descriptor of each ended run's cell, in the order of their ends."""
    left: list[int] = []
    end = executor._supply._end

    def noting(remains: Remains) -> None:
        if remains.cell is not None:
            left.append(os.dup(remains.cell._pidfd))
        end(remains)

    monkeypatch.setattr(executor._supply, "_end", noting)
    yield left
    for pidfd in left:
        os.close(pidfd)


async def gone(pidfd: int) -> None:
    with trio.fail_after(PATIENCE_S):
        await trio.lowlevel.wait_readable(pidfd)


async def test_at_rest_a_cell_goes_with_its_run(executor, left):
    await executor.run(Request("shell", "true"))
    await gone(left[0])


@pytest.mark.parametrize(("code", "is_small"), [("true", True), (HOLDING_MUCH, False)])
async def test_in_a_rush_a_cell_goes_after_it_unless_it_holds_much(
    executor, left, monkeypatch, code, is_small
):
    monkeypatch.setattr(supply, "RUSH_S", PATIENCE_S)
    monkeypatch.setattr(supply.os, "cpu_count", lambda: 1)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(executor.run, Request("shell", "sleep 600"))
        with trio.fail_after(PATIENCE_S):
            while not executor._supply._opened:  # noqa: ASYNC110 - nothing tells of it
                await trio.sleep(0.01)
        await executor.run(Request("shell", code))
        measured = executor._supply._maker.hierarchy is not None
        if is_small and measured:
            assert not select.select(left[:1], [], [], 0)[0]
        else:
            await gone(left[0])
        nursery.cancel_scope.cancel()
    await gone(left[0])
