"""An engine that dies in the middle of a run: it is told, nothing hangs, work goes on later."""

from __future__ import annotations

import contextlib
import gc
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest
import trio
from docker.errors import APIError

import images
from executor import Request, Settings, Status, open_executor

pytestmark = [
    pytest.mark.xdist_group("containers"),
    # The SDK leaves the socket of a refused connection to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

START_S_MAX = 90
TOLD_S_MAX = 60


class OwnEngine:
    """A daemon of this test's, which no other test and no person uses."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = f"unix://{folder}/d.sock"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with open(self.folder / "log", "ab") as log:
            self._process = subprocess.Popen(
                [
                    "dockerd",
                    *("--data-root", f"{self.folder}/data", "--exec-root", f"{self.folder}/exec"),
                    *("-H", self.url, "--pidfile", f"{self.folder}/pid"),
                    *("--bridge", "none", "--iptables=false", "--ip6tables=false"),
                ],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
            )
        deadline = time.monotonic() + START_S_MAX
        while not self._answers():
            assert time.monotonic() < deadline, (self.folder / "log").read_text()[-3000:]
            time.sleep(0.1)

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as asking:
            asking.settimeout(5)
            try:
                asking.connect(f"{self.folder}/d.sock")
                asking.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
                return b" 200 " in asking.recv(64)
            except OSError:
                return False

    def kill(self) -> None:
        """The daemon, and the containerd that it started, at once."""
        assert self._process is not None
        noted = self.folder / "exec" / "containerd" / "containerd.pid"
        with contextlib.suppress(OSError, ValueError):
            os.kill(int(noted.read_text()), signal.SIGKILL)
        self._process.kill()
        self._process.wait()
        for left in (noted, self.folder / "pid"):
            left.unlink(missing_ok=True)

    def stop(self) -> None:
        """End it in order, when what it was killed in the middle of is taken away."""
        assert self._process is not None
        if self._answers():
            with contextlib.closing(docker.APIClient(self.url, timeout=60)) as api:
                for container in api.containers(all=True):
                    with contextlib.suppress(APIError):
                        api.remove_container(container["Id"], v=True, force=True)
        self._process.terminate()
        self._process.wait(60)


@pytest.fixture
def own_engine(engine: docker.APIClient, monkeypatch: pytest.MonkeyPatch) -> Iterator[OwnEngine]:
    """A daemon with the image of python and shell."""
    if os.geteuid() != 0 or not shutil.which("dockerd"):
        pytest.skip("not applicable: only root can start an engine, with dockerd of this machine")
    folder = Path(tempfile.mkdtemp(prefix="engine-"))  # short: a socket's path is limited
    own = OwnEngine(folder)
    own.start()
    try:
        reference = images.reference(images.group_for("shell"))
        with contextlib.closing(docker.APIClient(own.url, timeout=300)) as target:
            target.load_image(b"".join(engine.get_image(reference)))
        monkeypatch.setenv("DOCKER_HOST", own.url)
        yield own
    finally:
        own.stop()
        _clear(folder)


def _clear(folder: Path) -> None:
    """What a killed daemon could not: its containers' keepers and their mounts, by their folder."""
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and os.fsencode(folder) in (entry / "cmdline").read_bytes():
                os.kill(int(entry.name), signal.SIGKILL)
    mounts = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    for mount in sorted((path for path in mounts if path.startswith(f"{folder}/")), reverse=True):
        subprocess.run(["umount", "-l", mount], check=False, stderr=subprocess.DEVNULL)
    shutil.rmtree(folder, ignore_errors=True)


async def test_a_lost_engine_is_told_and_used_again_when_it_is_back(
    own_engine: OwnEngine, project: Path, tmp_path: Path
):
    settings = Settings(isolation="container")
    async with open_executor(
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
