"""Real parts of a fleet: an engine on loopback, workers as processes, a front over this machine."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trio

import policy
from executor import LocalEngine, open_engine
from executor.engine.engine import Completed
from executor.model import Request
from executor.settings import Settings
from fleet.cluster import ClusterSettings, Credentials, Fallback, Send
from fleet.front import Fleet, open_fleet
from fleet.seal import make_key
from tests.fleet.dask.scheduler import DaskScheduler, dask_scheduler

CHECKOUT = Path(__file__).parents[2]
HOMES = ("config", "data", "state", "cache")
DEADLINE_S = 300
SERVES = " serves "
"""What a worker says once it takes orders."""


@dataclass(frozen=True)
class Site:
    """Where an engine is, and a front's key with the configuration that names it.

    The home stays the real one: some languages are installed there.
    """

    folder: Path
    server: DaskScheduler
    blobs: str

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def credentials(self) -> Credentials | None:
        return self.server.front

    @property
    def form(self) -> bytes:
        """As another process unpickles it, which can't kill the server."""
        told = SimpleNamespace(url=self.url, front=self.credentials)
        return pickle.dumps(replace(self, server=told))

    @property
    def seal(self) -> Path:
        return self.folder / "seal.key"

    @property
    def keys(self) -> Path:
        return self.folder / "fronts.toml"

    @property
    def environment(self) -> dict[str, str]:
        """Of a process that knows this configuration alone."""
        kept = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
        homes = {f"XDG_{kind.upper()}_HOME": str(self.folder / kind) for kind in HOMES}
        own = {"HOME": str(Path.home()), "LANG": "C.UTF-8", "PYTHONPATH": str(CHECKOUT)}
        return kept | homes | own

    def prepare(self) -> Site:
        """Write the key, the list of the fronts that are served, and the configuration."""
        config = self.folder / "config" / "ctxmode"
        config.mkdir(parents=True)
        public = make_key(self.seal)
        self.keys.write_text(f'[fronts.me]\nkey = "{public}"\nowners = ["*"]\n')
        self.keys.chmod(0o600)
        values = {"seal": self.seal, "blobs": self.blobs, "fallback": "wait"}
        if self.credentials is not None:
            names = ("ca", "certificate", "key")
            values |= {name: getattr(self.credentials, name) for name in names}
        lines = [f'{name} = "{value}"\n' for name, value in values.items() if str(value)]
        (config / "config.toml").write_text("[cluster]\n" + "".join(lines))
        return self


@contextlib.contextmanager
def dask(folder: Path) -> Iterator[Site]:
    """A scheduler with certificates."""
    # Loaded here, so that it takes nothing of the time that a front gives its engine.
    pytest.importorskip("distributed", reason="not applicable: distributed is not installed")
    with dask_scheduler(folder) as server:
        yield Site(folder, server, server.blobs).prepare()


@dataclass
class WorkerProcess:
    """A worker that can be killed, and started again with what it kept."""

    site: Site
    name: str
    at_once: int = 1
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)
    starts: int = 0

    @property
    def log(self) -> Path:
        return self.site.folder / f"{self.name}-{self.starts}.log"

    @property
    def is_ready(self) -> bool:
        return SERVES in self.log.read_text()

    def start(self) -> None:
        """Start it; it is not ready yet."""
        self.starts += 1
        command = [sys.executable, "-m", "ctxmode", "serve", "worker", "--cluster", self.site.url]
        # One folder for all: the first proves the languages, and the others find them proven.
        command += ["--keys", str(self.site.keys), "--folder", str(self.site.folder / "worker")]
        command += ["--name", self.name, "--at-once", str(self.at_once)]
        with self.log.open("wb") as said:
            self.process = subprocess.Popen(
                command, stdout=said, stderr=said, env=self.site.environment, cwd=self.site.folder
            )

    def wait_until_ready(self) -> None:
        """Wait until it takes orders."""
        deadline = time.monotonic() + DEADLINE_S
        while not self.is_ready:
            assert self.process.poll() is None, self.log.read_text()[-3000:]
            assert time.monotonic() < deadline, self.log.read_text()[-3000:]
            time.sleep(0.02)

    def kill(self) -> None:
        """End it at once; whatever it began is another's."""
        self.process.kill()
        self.process.wait()

    def leave(self) -> None:
        """Let it end as it should."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.kill()


@contextlib.contextmanager
def working(site: Site, count: int = 1, at_once: int = 1) -> Iterator[list[WorkerProcess]]:
    """Have workers for a block, ready at its beginning."""
    workers = [WorkerProcess(site, f"worker-{number}", at_once) for number in range(count)]
    try:
        have_ready(workers)
        yield workers
    finally:
        for worker in workers:
            if worker.process is not None:
                worker.leave()


def have_ready(workers: list[WorkerProcess]) -> None:
    """Start those that do not run, and wait for all."""
    for worker in workers:
        if worker.process is None or worker.process.poll() is not None:
            worker.start()
        if worker is workers[0]:
            worker.wait_until_ready()
    for worker in workers:
        worker.wait_until_ready()


@dataclass(frozen=True)
class Front:
    """A front of a project: the fleet, this machine's engine below it, and what it kept."""

    fleet: Fleet
    local: LocalEngine
    kept: list[tuple[Request, Completed]]
    books: Path


@contextlib.asynccontextmanager
async def fronting(
    site: Site,
    project: Path,
    state: Path,
    rules: Callable[[], policy.Rules] | None = None,
    **given: Any,
) -> AsyncIterator[Front]:
    """A front that sends all, and leaves nothing to this machine unless `given` says so."""
    settings = ClusterSettings(
        *(site.url, site.seal, site.credentials, site.blobs, Send.ALWAYS, Fallback.WAIT)
    )
    kept: list[tuple[Request, Completed]] = []

    async def keep(request: Request, completed: Completed) -> None:
        kept.append((request, completed))

    async with (
        open_engine(
            project=project,
            state_dir=state,
            rules=rules,
            home=Path.home(),
            settings=Settings(prewarm=False),
        ) as local,
        open_fleet(local, replace(settings, **given), state / "fleet", keep) as fleet,
    ):
        yield Front(fleet, local, kept, state / "fleet")


async def until(holds: Callable[[], object], within_s: float = DEADLINE_S) -> None:
    """Wait for a condition."""
    with trio.fail_after(within_s):
        while not holds():  # noqa: ASYNC110 - other processes tell nobody
            await trio.sleep(0.02)
