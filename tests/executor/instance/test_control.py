"""Asking and stopping a server's runs from outside."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import trio

from executor import LocalEngine, Request, Status
from executor.instance import control


@pytest.fixture
def instances(state_dir: Path) -> Path:
    return state_dir / "instances"


async def listed(instances: Path, label: str) -> list[control.RunningProgram]:
    return [run for run in await control.list_running(instances) if label in run.label]


async def test_a_run_is_listed_and_can_be_stopped(executor: LocalEngine, instances: Path, nursery):
    results = []

    async def run() -> None:
        completed = await executor.run(Request("shell", "echo begun; sleep 4321"))
        results.append(completed.result)

    nursery.start_soon(run)
    with trio.fail_after(60):
        while not (found := await listed(instances, "sleep 4321")):  # noqa: ASYNC110
            await trio.sleep(0.01)
        assert (found[0].label, found[0].profile) == ("shell: echo begun; sleep 4321", "analyze")
        assert await control.stop(instances, found[0].id)
        while not results:  # noqa: ASYNC110 - the run is another task's
            await trio.sleep(0.01)
    assert results[0].status is Status.CANCELLED
    assert await listed(instances, "sleep 4321") == []


async def test_what_is_prewarmed_is_told_with_its_cost(executor: LocalEngine, instances: Path):
    for _ in range(4):
        assert (await executor.run(Request("shell", "true"))).result.ok
    own = [kept for kept in await control.list_prewarmed(instances) if kept.hits + kept.misses > 2]
    told = [(kept.label, kept.hits + kept.misses, kept.trouble) for kept in own]
    expected = [(p.label, p.hits + p.misses, p.trouble) for p in executor.pools]
    if not expected:
        pytest.skip("not applicable: cells are made ahead in tier A only")
    assert [one for one in expected if one[1] > 2] == told


@pytest.mark.parametrize("identity", ["", "x", "nobody/1", "../x/1", "nobody/x"])
async def test_stopping_what_is_not_there_says_so(identity, executor: LocalEngine, instances: Path):
    assert not await control.stop(instances, identity)


@pytest.mark.parametrize(
    "line", [b"", b"nonsense", b"[]", b'{"do": "dance"}', b'{"do": "stop"}', b"x" * 10_000]
)
async def test_a_malformed_question_is_answered_and_the_server_lives_on(
    line, executor: LocalEngine, instances: Path
):
    own = max(instances.glob("*.sock"), key=lambda path: path.stat().st_mtime)
    with trio.fail_after(60), control._reachable(own) as name:
        async with await trio.open_unix_socket(name) as stream:
            await stream.send_all(line + b"\n")
            assert "error" in json.loads(await stream.receive_some())
    assert (await executor.run(Request("shell", "echo hi"))).result.ok


async def test_only_the_user_may_ask(executor: LocalEngine, instances: Path):
    assert instances.stat().st_mode & 0o077 == 0
    assert all(path.stat().st_mode & 0o077 == 0 for path in instances.glob("*.sock"))
