"""Protected paths are put back also where the supervisor that should have done it is lost."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
import trio

from executor import Executor, Request, Status
from executor import runner as running
from tests.executor.planting import PLANT, PLANTED, is_clean, is_planted, until_planted

pytestmark = pytest.mark.tier_a

DEADLINE_S = 60


async def kill_supervisors(executor: Executor, project: Path) -> None:
    await until_planted(project)
    for progress in executor._runner.running.values():
        os.kill(progress.cell.pid, signal.SIGKILL)  # type: ignore[union-attr]


async def test_a_killed_supervisors_project_is_put_back(executor: Executor, project: Path):
    with trio.fail_after(DEADLINE_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(kill_supervisors, executor, project)
            done = await executor.run(Request("shell", PLANT, profile="build"))
    assert done.result.status is Status.SANDBOX_ERROR
    assert set(done.result.undone_paths) == PLANTED
    assert done.result.changed_files_omitted == 1
    assert type(done.result.changed_files_omitted) is int
    assert is_clean(project)


async def test_a_supervisor_that_is_too_slow_is_stood_in_for(
    executor: Executor, project: Path, monkeypatch
):
    monkeypatch.setattr(running, "LIVE_STOP_S_MAX", 0.0)
    with trio.fail_after(DEADLINE_S):
        for timeout_s in (2, 5, 20):  # however long the program takes here to plant
            done = await executor.run(Request("shell", PLANT, profile="build", timeout_s=timeout_s))
            if is_planted(project):
                break
    assert done.result.status is Status.TIMED_OUT
    assert set(done.result.undone_paths) <= PLANTED  # it may have begun itself
    assert is_clean(project)


async def test_a_cancelled_runs_project_is_put_back_too(
    executor: Executor, project: Path, monkeypatch
):
    monkeypatch.setattr(running, "LIVE_STOP_S_MAX", 0.0)
    with trio.fail_after(DEADLINE_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(executor.run, Request("shell", PLANT, profile="build"))
            await until_planted(project)
            nursery.cancel_scope.cancel()
    assert is_clean(project)


async def test_a_session_whose_supervisor_is_killed_leaves_nothing(
    executor: Executor, project: Path
):
    with trio.fail_after(DEADLINE_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(kill_supervisors, executor, project)
            done = await executor.run(Request("shell", PLANT, profile="build", session="s"))
    assert done.result.status is Status.SANDBOX_ERROR
    assert is_clean(project)
