"""A container that is killed with its run leaves no protected path as the run made it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import docker
import pytest
import trio

from executor import Executor, Request, Status
from executor.containers.box import ContainerBox
from tests.executor.planting import PLANT, PLANTED, is_clean, until_planted

pytestmark = pytest.mark.xdist_group("containers")

DEADLINE_S = 120


async def kill_when_planted(executor: Executor, project: Path, engine: docker.APIClient) -> None:
    await until_planted(project)
    (progress,) = executor._runner.running.values()
    assert isinstance(progress.cell, ContainerBox)
    await trio.to_thread.run_sync(engine.kill, progress.cell.container.id)


@pytest.mark.parametrize("more", [{}, {"session": "s"}], ids=["run", "session"])
async def test_a_killed_containers_project_is_put_back(
    executor: Executor, project: Path, engine: docker.APIClient, more: Mapping[str, str]
):
    with trio.fail_after(DEADLINE_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(kill_when_planted, executor, project, engine)
            done = await executor.run(Request("shell", PLANT, profile="build", **more))
    assert done.result.status is Status.SANDBOX_ERROR
    assert is_clean(project)
    if not more:
        assert set(done.result.undone_paths) == PLANTED
