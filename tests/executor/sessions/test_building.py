"""Sessions that may change the project: changes are committed at the end of each call.

In cells of this machine's tier, and in containers, whose project is a work copy as in tier B.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import trio

from executor import LocalEngine, Result, Settings, Status, open_engine
from tests.executor.containers.conftest import why_not
from tests.executor.host_changes import HOST_CHANGES, see_what_the_host_changes

Call = Callable[..., Awaitable[Result]]
IN_CONTAINERS = pytest.mark.xdist_group("containers")
BACK_ENDS = {
    "cell": Settings(),
    "container": Settings(isolation="container"),
}


@pytest.fixture(params=["cell", pytest.param("container", marks=IN_CONTAINERS)])
async def executor(
    request: pytest.FixtureRequest, project: Path, state_dir: Path
) -> AsyncIterator[LocalEngine]:
    settings = BACK_ENDS[request.param]
    if settings.isolation == "container" and (reason := why_not("python", "shell")):
        pytest.skip(reason)
    async with open_engine(
        project=project, state_dir=state_dir, rules=None, home=Path.home(), settings=settings
    ) as opened:
        yield opened


@pytest.fixture
def call(run) -> Call:
    """A call of one session under `build`."""

    async def call_one(language: str, code: str | None = None, **more: object) -> Result:
        return await run(language, code, **({"session": "s", "profile": "build"} | more))

    return call_one


@pytest.mark.parametrize("language", ["shell", "python"])
@pytest.mark.parametrize("change", HOST_CHANGES)
async def test_what_the_host_changed_between_calls_is_seen(change, language, call, project: Path):
    await see_what_the_host_changes(change, language, call, project)


async def test_build_commits_and_lists_each_calls_own_changes(call, project: Path):
    result = await call("shell", "echo a > a.txt")
    assert [change.path for change in result.changed_files] == ["a.txt"]
    assert (project / "a.txt").read_text() == "a\n"
    (project / "of_the_host.txt").write_text("")
    result = await call("python", "open('b.txt', 'w').close()")
    assert [change.path for change in result.changed_files] == ["b.txt"]
    assert (project / "b.txt").exists()


async def test_what_a_file_left_open_gets_in_a_later_call_is_committed_then(call, project: Path):
    await call("python", "log = open('log', 'w', buffering=1); log.write('1\\n')")
    assert (project / "log").read_text() == "1\n"
    await call("python", "log.write('2\\n')")
    assert (project / "log").read_text() == "1\n2\n"


async def test_what_is_not_committed_is_gone_in_the_next_call(call, project: Path):
    plant = "mkdir .vscode && echo x > .vscode/tasks.json; echo y > fine"
    result = await call("shell", plant)
    assert {left.kind for left in result.not_committed} == {"never"}
    assert os.listdir(project) == ["fine"]
    result = await call("shell", "ls -A")
    assert result.stdout.text == "fine\n"


async def test_what_a_call_leaves_running_changes_nothing_between_calls(call, project: Path):
    await call("shell", "(sleep 0.2; echo x > late; sleep 9) & echo started")
    await trio.sleep(0.5)
    assert os.listdir(project) == []
    await call("shell", "until test -e late; do sleep 0.05; done")
    assert os.listdir(project) == ["late"]


async def test_a_conflict_of_one_call_is_not_overwritten_by_the_next(call, project: Path):
    shared = project / "shared"
    shared.write_text("old\n")
    await call("shell", ":")
    program = "echo mine > shared; touch ready; sleep 1"

    async with trio.open_nursery() as nursery:
        done = []

        async def build() -> None:
            done.append(await call("shell", program))

        nursery.start_soon(build)
        await trio.sleep(0.4)
        shared.write_text("of the host\n")
    assert done[0].conflicts == ("shared",)
    result = await call("shell", "cat shared")
    assert result.stdout.text == "of the host\n"
    assert shared.read_text() == "of the host\n"


async def test_secrets_that_the_host_makes_between_calls_are_hidden(call, project: Path):
    await call("shell", ":")
    (project / ".env").write_text("KEY=canary-7141\n")
    result = await call("shell", "cat .env; echo x > .env; mv .env other; true")
    assert "canary" not in result.stdout.text
    assert (project / ".env").read_text() == "KEY=canary-7141\n"


# Until the signal is seen; for three seconds where the view is a copy.
WAIT = "cat file none; {work} for i in `seq 150`; do grep -q go signal && break; sleep 0.02; done"
WORK = {
    "that writes nothing": "",
    "that writes": "echo mine > made; mkdir src; echo new > src/main.c;",
}


@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
async def test_what_the_host_replaces_during_a_call_is_seen_by_the_next(work, call, project: Path):
    (project / "file").write_text("old\n")
    (project / "signal").write_text("..\n")
    results: list[Result] = []

    async def record(code: str) -> Result:
        results.append(await call("shell", code))
        return results[-1]

    await record("true")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(record, WAIT.format(work=work))
        await trio.sleep(0.5)  # by then it has looked; if not, nothing is stale
        (project / "file.new").write_text("new\n")
        os.rename(project / "file.new", project / "file")
        (project / "none").write_text("born\n")
        with open(project / "signal", "r+") as signal:
            signal.write("go")
    assert (results[-1].status, results[-1].stdout.text) == (Status.OK, "old\n")
    assert (await record("cat file none")).stdout.text == "new\nborn\n"
    assert results[-1].status is Status.OK
    if work:
        assert (project / "made").read_text() == "mine\n"


async def test_scripts_folders_bound_files_and_artifacts_are_found_in_the_view(call, project: Path):
    (project / "sub").mkdir()
    (project / "sub" / "data").write_text("data")
    (project / "script.py").write_text("word = 'imported'\nopen('made', 'w').write(word)\n")
    assert (await call("python", path="script.py")).ok
    assert (project / "made").read_text() == "imported"
    code = "import os; print(word, FILE_CONTENT, os.listdir()); open('out.bin', 'w').close()"
    result = await call("python", code, cwd="sub", bind_file="data", artifacts=("*.bin",))
    assert result.stdout.text == "imported data ['data']\n", result.stderr.text
    assert [artifact.name for artifact in result.artifacts] == ["out.bin"]
    assert (project / "sub" / "out.bin").exists()
    assert (await call("shell", "cat data", cwd="sub")).stdout.text == "data"


async def test_nothing_of_an_ended_session_is_committed_and_a_new_one_sees_the_project(
    call, project: Path
):
    (project / "file").write_text("old\n")
    await call("shell", "(sleep 1; echo late > late) & echo new > file")
    result = await call("shell", "cat file; ls", fresh=True)
    assert result.stdout.text == "new\nfile\n"
    await trio.sleep(1.2)
    assert os.listdir(project) == ["file"]
