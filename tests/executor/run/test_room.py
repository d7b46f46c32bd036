"""A run that writes more than can be committed is stopped, where that lies on disk."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from executor.run import progress
from tests.processes import DEADLINE_S

PRESENT = (5 * 4096, 5)  # bytes and entries


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(progress, "CHANGES_MAX", 10)
    monkeypatch.setattr(progress, "WALK_S_MAX", 0.1)
    folder = tmp_path / "folder"
    folder.mkdir()
    for number in range(5):
        (folder / str(number)).write_text("x")
    return folder


async def is_stopped(folder: Path, more: int, *, counts_all: bool, within_s: float) -> bool:
    """Whether the watch stops a run that makes so many more files."""
    stopped = trio.Event()

    async def stop() -> None:
        stopped.set()

    beyond = None if counts_all else lambda: PRESENT
    for number in range(more):
        (folder / f"more-{number}").touch()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(progress.watch, str(folder), stop, beyond)
        with trio.move_on_after(within_s):
            await stopped.wait()
        nursery.cancel_scope.cancel()
    return stopped.is_set()


@pytest.mark.parametrize(("counts_all", "more"), [(True, 6), (False, 11)])
async def test_too_much_stops_a_run(counts_all: bool, more: int, folder: Path):
    assert await is_stopped(folder, more, counts_all=counts_all, within_s=DEADLINE_S)


async def test_what_was_there_at_first_does_not_count_where_that_is_told(folder: Path):
    assert not await is_stopped(folder, 6, counts_all=False, within_s=0.5)
