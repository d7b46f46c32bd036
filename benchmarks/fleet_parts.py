"""A whole fleet on loopback for a measurement: an engine, workers as programs, and a front."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

from executor import LocalEngine, open_engine
from fleet.cluster import Credentials
from fleet.front import Fleet, open_fleet
from fleet.keys import make_key
from fleet.settings import ClusterSettings, Send
from policy.rules import Rules

START_S = 60
_WORKER = (sys.executable, "-m", "ctxmode", "worker")


@dataclass(frozen=True, slots=True)
class EngineHere:
    """An engine that runs: its URL, where its blobs are, and who may call it."""

    name: str
    url: str
    credentials: Credentials
    blobs: str = ""


@contextlib.contextmanager
def engines(folder: Path) -> Iterator[list[EngineHere]]:
    """Start a scheduler with certificates."""
    from tests.fleet.dask.scheduler import dask_scheduler  # noqa: PLC0415

    place = folder / "dask"
    place.mkdir()
    with dask_scheduler(place) as dask:
        assert dask.front is not None
        yield [EngineHere("Dask", dask.url, dask.front, dask.blobs)]


@contextlib.contextmanager
def workers(engine: EngineHere, folder: Path, count: int, at_once: int = 1) -> Iterator[None]:
    """Have workers serve an engine; they end with the block."""
    environ = {
        **os.environ,
        "CONTEXT_MODE_DIR": str(folder / "storage"),
        "CONTEXT_MODE_CLUSTER_CA": str(engine.credentials.ca),
        "CONTEXT_MODE_CLUSTER_CERTIFICATE": str(engine.credentials.certificate),
        "CONTEXT_MODE_CLUSTER_KEY": str(engine.credentials.key),
        "CONTEXT_MODE_CLUSTER_BLOBS": engine.blobs,
    }
    started: list[subprocess.Popen[bytes]] = []
    try:
        for number in range(count):
            options = ("--cluster", engine.url, "--keys", str(folder / "fronts.toml"))
            where = ("--folder", str(folder / f"worker-{number}"), "--name", f"w{number}")
            command = [*_WORKER, *options, *where, "--at-once", str(at_once)]
            started.append(subprocess.Popen(command, env=environ, stderr=subprocess.PIPE))
        for process in started:
            assert process.stderr is not None
            while b" serves " not in (line := process.stderr.readline()):
                assert line, "a worker ended"
        yield
    finally:
        for process in started:
            process.terminate()
        for process in started:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(START_S)
            process.kill()
            process.wait()
            assert process.stderr is not None
            process.stderr.close()


def prepare(folder: Path) -> Path:
    """Make a front's key, and the list of keys that workers serve; the project's folder."""
    folder.chmod(0o711)  # programs are another user's where this one is root
    public = make_key(folder / "front.key")
    keys = folder / "fronts.toml"
    keys.write_text(f'[fronts.bench]\nkey = "{public}"\nowners = ["*"]\n')
    keys.chmod(0o600)
    project = folder / "project"
    project.mkdir()
    return project


@contextlib.asynccontextmanager
async def front(
    engine: EngineHere, folder: Path, at_once: int = 64
) -> AsyncIterator[tuple[Fleet, LocalEngine]]:
    """A front that sends all to an engine, and the engine of this machine beside it."""
    settings = ClusterSettings(
        url=engine.url,
        seal=folder / "front.key",
        credentials=engine.credentials,
        blobs=engine.blobs,
        send=Send.ALWAYS,
        at_once=at_once,
    )
    state = folder / f"state-{engine.name}-{time.monotonic_ns()}"

    async def keep(*_: object) -> None:
        return None

    async with (
        open_engine(project=folder / "project", state_dir=state, rules=Rules, home=folder) as local,
        open_fleet(local, settings, state / "fleet", keep) as fleet,
    ):
        yield fleet, local
