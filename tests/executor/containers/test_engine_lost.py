"""An engine that dies in the middle of a run: it is told, nothing hangs, work goes on later."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest
import trio

from executor import Request, Settings, Status, open_engine
from tests.executor.containers.own_engine import START_S_MAX, OwnEngine, started

pytestmark = [
    pytest.mark.xdist_group("containers"),
    # The SDK leaves the socket of a refused connection to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

TOLD_S_MAX = 60


@pytest.fixture
def own_engine(engine: docker.APIClient, monkeypatch: pytest.MonkeyPatch) -> Iterator[OwnEngine]:
    """A daemon with the image of python and shell, the one that is named to everybody."""
    with started(engine) as own:
        monkeypatch.setenv("DOCKER_HOST", own.url)
        yield own


async def test_a_lost_engine_is_told_and_used_again_when_it_is_back(
    own_engine: OwnEngine, project: Path, tmp_path: Path
):
    settings = Settings(isolation="container")
    async with open_engine(
        project=project,
        state_dir=tmp_path / "state",
        rules=None,
        home=Path.home(),
        settings=settings,
    ) as executor:
        assert (await executor.run(Request("shell", "echo first"))).result.stdout.text == "first\n"
        with trio.fail_after(TOLD_S_MAX):
            async with trio.open_nursery() as nursery:
                begun = trio.Event()

                async def interrupted() -> None:
                    request = Request("shell", "echo begun; sleep 600")
                    completed = await executor.run(request, on_output=lambda *_: begun.set())
                    assert completed.result.status is Status.SANDBOX_ERROR
                    assert completed.result.message

                nursery.start_soon(interrupted)
                await begun.wait()
                await trio.to_thread.run_sync(own_engine.kill)
            without = (await executor.run(Request("shell", "echo lost"))).result
        assert without.status is Status.SANDBOX_ERROR
        assert "docker info" in without.message
        await trio.to_thread.run_sync(own_engine.start)
        with trio.fail_after(START_S_MAX):
            again = (await executor.run(Request("shell", "echo again"))).result
        assert (again.status, again.stdout.text) == (Status.OK, "again\n"), again.message
    gc.collect()  # while such warnings are ignored
