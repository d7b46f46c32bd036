"""Cells of ended runs: when the kernel's work of taking them down is done."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
import trio

from executor import Request
from executor.cells.description import CellParts

PATIENCE_S = 60.0


@pytest.fixture
def left(executor, monkeypatch) -> Iterator[list[int]]:
    """A descriptor of each ended run's cell, in the order of their ends."""
    left: list[int] = []
    dispose = executor._pool._dispose

    def noting(parts: CellParts) -> None:
        if parts.cell is not None:
            left.append(os.dup(parts.cell._pidfd))
        dispose(parts)

    monkeypatch.setattr(executor._pool, "_dispose", noting)
    yield left
    for pidfd in left:
        os.close(pidfd)


async def gone(pidfd: int) -> None:
    with trio.fail_after(PATIENCE_S):
        await trio.lowlevel.wait_readable(pidfd)


async def test_a_cell_goes_with_its_run(executor, left):
    await executor.run(Request("shell", "true"))
    await gone(left[0])
