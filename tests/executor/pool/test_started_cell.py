"""The cell that is started before its use."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trio

from executor import Limits, LocalEngine, Request, Settings, Status, open_engine
from executor.model import MIB

PATIENCE_S = 60.0


@pytest.fixture
async def cold(project: Path, state_dir: Path) -> AsyncIterator[LocalEngine]:
    """An executor that prewarms no program."""
    async with open_engine(
        project=project,
        state_dir=state_dir,
        rules=None,
        home=Path.home(),
        settings=Settings(prewarm=False),
    ) as opened:
        yield opened


async def started_pid(executor: LocalEngine) -> int:
    """The started cell's process, once there is one."""
    started = executor._pool._started
    with trio.fail_after(PATIENCE_S):
        while started._idle is None:  # noqa: ASYNC110 - nothing tells of it
            await trio.sleep(0.01)
    assert started._idle.cell is not None
    return started._idle.cell.pid


async def said(executor: LocalEngine, code: str, limits: Limits | None = None) -> str:
    request = Request("shell", code, limits=limits or Limits())
    return (await executor.run(request)).result.stdout.text


async def test_each_run_takes_another_process(cold):
    assert await said(cold, "echo one") == "one\n"
    first = await started_pid(cold)
    assert await said(cold, "echo two") == "two\n"
    assert await started_pid(cold) != first


async def test_the_limits_are_those_of_the_run_that_takes_it(cold):
    await said(cold, "true")
    await started_pid(cold)
    eat = "x=$(head -c 100000000 /dev/zero | tr '\\0' x); echo ${#x}"
    result = (await cold.run(Request("shell", eat, limits=Limits(memory_bytes=64 * MIB)))).result
    assert result.status is not Status.OK  # without a control group bash meets a limit and says so
    assert result.stdout.text == ""
    await started_pid(cold)
    assert await said(cold, eat, Limits(memory_bytes=1024 * MIB)) == "100000000\n"


async def test_one_that_was_killed_while_it_waited_is_not_taken(cold):
    await said(cold, "true")
    pid = await started_pid(cold)
    pidfd = os.pidfd_open(pid)
    os.kill(pid, signal.SIGKILL)
    await trio.lowlevel.wait_readable(pidfd)
    os.close(pidfd)
    assert await said(cold, "echo here") == "here\n"


async def test_it_is_gone_when_the_executor_is(project, state_dir):
    settings = Settings(prewarm=False)
    async with open_engine(
        project=project, state_dir=state_dir, rules=None, home=Path.home(), settings=settings
    ) as opened:
        await said(opened, "true")
        pid = await started_pid(opened)
    with trio.fail_after(PATIENCE_S):
        while Path(f"/proc/{pid}").exists():  # noqa: ASYNC110 - the kernel tells nobody
            await trio.sleep(0.01)
