"""Containers on gVisor's kernel, where the engine has it: what that kernel does otherwise."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import docker
import pytest

from executor import (
    Limits,
    LocalEngine,
    Request,
    Result,
    SandboxUnavailableError,
    Settings,
    Status,
    open_engine,
)
from executor.containers import create

pytestmark = pytest.mark.xdist_group("containers")

MIB = 1024 * 1024
SETTINGS = Settings(isolation="container", runtime="runsc")
REACH = """
import os, signal
for descriptor in (0, 1, 2):
    for mode in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR):
        try:
            os.open(f"/proc/1/fd/{descriptor}", mode | os.O_NONBLOCK)
            print("opened", descriptor)
        except OSError:
            pass
for number in (signal.SIGTERM, signal.SIGSTOP, signal.SIGKILL):
    for pid in (1, *map(int, os.listdir("/proc/1/task"))):
        try:
            os.kill(pid, number)
            print("signalled", pid)
        except OSError:
            pass
print("survived as", os.getresuid(), file=open("/dev/stdout", "w"))
"""


@pytest.fixture(scope="session")
def gvisor(engine: docker.APIClient) -> None:
    if "runsc" not in (engine.info().get("Runtimes") or {}):
        pytest.skip("not applicable: the engine has no runtime runsc; .ci/engine adds it")


@pytest.fixture
async def executor(gvisor: None, project: Path, state_dir: Path) -> AsyncIterator[LocalEngine]:
    async with open_engine(
        project=project, state_dir=state_dir, rules=None, home=Path.home(), settings=SETTINGS
    ) as opened:
        yield opened


async def outcome(executor: LocalEngine, code: str, **more: object) -> Result:
    return (await executor.run(Request("python", code, **more))).result


async def test_the_layers_say_what_is_not_in_force(executor: LocalEngine):
    layers = executor.isolation.layers
    assert layers["runtime"].detail.startswith("runsc")
    assert "files are not counted" in layers["runtime"].detail
    assert "by the container's kernel" in layers["cgroup"].detail
    assert not layers["landlock"].active


async def test_a_program_reaches_neither_the_stream_nor_the_life_of_its_supervisor(
    executor: LocalEngine,
):
    user = executor._runner.placement.user[0]
    result = await outcome(executor, REACH)
    survived = f"survived as ({user}, {user}, {user})\n"
    assert (result.status, result.stdout.text) == (Status.OK, survived), result.message
    for number in ("1", "2"):
        result = await outcome(executor, REACH, session="s")
        assert (number, result.stdout.text) == (number, survived)


@pytest.mark.parametrize(
    ("code", "limits", "statuses"),
    [
        (
            "import os, time\nfor _ in range(99):\n    if os.fork() == 0: time.sleep(60)",
            {"processes": 20},
            (Status.PROCESS_LIMIT, Status.NONZERO_EXIT),
        ),
        (
            "import time\nx = []\nwhile True: x.append(bytearray(b'x' * 10**6)); time.sleep(0.01)",
            {"memory_bytes": 100 * MIB},
            (Status.MEMORY_LIMIT,),
        ),
        (
            "import os, time\nfd = os.memfd_create('x')\n"
            "while True: os.write(fd, bytes(10**6)); time.sleep(0.01)",
            {"memory_bytes": 100 * MIB},
            (Status.MEMORY_LIMIT,),
        ),
    ],
    ids=("processes", "memory", "memfd"),
)
async def test_limits_are_met_before_the_container_itself_ends(
    executor: LocalEngine, code, limits, statuses
):
    """Memory is sampled: what grows faster than that is ended with its container."""
    result = await outcome(executor, code, limits=Limits(**{"wall_s": 60, **limits}))
    assert result.status in statuses, f"{result.message} {result.stderr.text}"
    assert "container has ended" not in result.message


async def test_files_are_written_changed_and_brought_back_as_with_the_other_kernel(
    executor: LocalEngine, project: Path
):
    (project / "kept").write_text("old")
    code = "open('kept', 'w').write('new'); open('made', 'w'); open('a.bin', 'wb').write(b'abc')"
    result = await outcome(executor, code, artifacts=("*.bin",))
    assert {(change.path, change.change) for change in result.changed_files} >= {
        ("kept", "modified"),
        ("made", "created"),
    }
    assert (project / "kept").read_text() == "old"
    assert [Path(a.path).read_bytes() for a in result.artifacts if a.path] == [b"abc"]
    built = await outcome(executor, code, profile="build")
    assert built.status is Status.OK, built.message
    assert (project / "kept").read_text() == "new"
    assert (project / "made").stat().st_uid == project.stat().st_uid


async def test_an_agent_whose_stream_programs_could_open_is_refused(
    gvisor: None, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """As where gVisor goes by a name that does not tell what it is."""
    monkeypatch.setattr(create, "OWN_KERNELS", ())
    with pytest.raises(SandboxUnavailableError, match="could open what supervises them"):
        async with open_engine(
            project=project, state_dir=tmp_path, rules=None, home=Path.home(), settings=SETTINGS
        ):
            pass
