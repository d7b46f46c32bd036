"""A Docker engine of one test's own, with the image of python and shell."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import docker
import pytest
from docker.errors import APIError

import images
from tests.needs import need

START_S_MAX = 90


class OwnEngine:
    """A daemon of this test's, which no other test and no person uses."""

    def __init__(self, folder: Path, options: Sequence[str] = ()) -> None:
        self.folder = folder
        self._options = options
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
                    *self._options,
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


@contextlib.contextmanager
def started(engine: docker.APIClient, options: Sequence[str] = ()) -> Iterator[OwnEngine]:
    """A daemon that runs, with these options more; the image is `engine`'s."""
    if os.geteuid() != 0:
        pytest.skip("not applicable: only root can start an engine")
    need("dockerd")
    folder = Path(tempfile.mkdtemp(prefix="engine-"))  # short: a socket's path is limited
    own = OwnEngine(folder, options)
    own.start()
    try:
        reference = images.reference(images.group_for("shell"))
        with contextlib.closing(docker.APIClient(own.url, timeout=300)) as target:
            target.load_image(b"".join(engine.get_image(reference)))
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
