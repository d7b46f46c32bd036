"""What a worker adds to a run: the seal, the project, the second judging, what is handed back.

`echo` by a warm worker beside the same request by an engine of this machine, in turn; the bar is
5 ms more. Then a new tree each time, of which one file of 200 changed.
"""

from __future__ import annotations

import base64
import shutil
import time
from pathlib import Path

import trio
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from benchmarks.report import Report, Row, summary
from executor import LocalEngine, Request, open_engine
from executor.model import Limits
from executor.profile import ANALYZE
from executor.project.view.search import ProjectSearch
from fleet.blob_cache import BlobCache
from fleet.known_digests import KnownDigests
from fleet.model import PROTOCOL, Order
from fleet.seal import seal_order
from fleet.snapshot import Snapshot, take
from fleet.travel import Terms
from fleet.tree import Digest
from fleet.worker import Worker, WorkerTerms, open_worker
from policy.rules import Rules

FILES, FILE_BYTES = 200, 4_900
WARM_UP, ROUNDS = 5, 60
BAR_MS = 5.0
KEY = Ed25519PrivateKey.from_private_bytes(bytes(32))
ECHO = Request("shell", "echo hello")


def measure(folder: Path, report: Report, _: str) -> None:
    """Add the runs to a report."""
    folder.chmod(0o711)  # programs are another user's where this one is root
    bench = _Bench(folder)
    trio.run(bench.beside_an_engine, report)


class _Bench:
    """A front's project and key, and the list of a worker that serves it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project = folder / "front"
        self.project.mkdir()
        for number in range(FILES):
            (self.project / f"{number}.txt").write_text(f"{number}\n" * (FILE_BYTES // 4))
        self.keys = folder / "fronts.toml"
        public = base64.b64encode(KEY.public_key().public_bytes_raw()).decode()
        self.keys.write_text(f'[fronts.bench]\nkey = "{public}"\nowners = ["*"]\n')
        self.keys.chmod(0o600)
        self.known = KnownDigests()
        self.number = 0

    def snap(self) -> Snapshot:
        return take(ProjectSearch(self.project), Terms(), self.known)

    def seal(self, snapshot: Snapshot) -> bytes:
        """A new order of `echo` for a tree."""
        self.number += 1
        order = Order(
            run_id=f"run-{self.number:08}",
            owner="bench",
            request=ECHO,
            root=snapshot.tree.root,
            rules=Rules(),
            profile=ANALYZE,
            limits=Limits(),
            project=str(self.project),
            not_after=time.time() + 3600,
        )
        return seal_order(order.encode(), KEY, PROTOCOL)

    async def beside_an_engine(self, report: Report) -> None:
        local = self.folder / "local"
        shutil.copytree(self.project, local)
        terms = WorkerTerms(self.folder / "worker", self.keys, at_once=1, warm=("shell",))
        async with (
            open_worker(terms) as worker,
            open_engine(
                project=local, state_dir=self.folder / "state", rules=Rules, home=self.folder
            ) as engine,
        ):
            await self._in_turn(worker, engine, report)

    async def _in_turn(self, worker: Worker, engine: LocalEngine, report: Report) -> None:
        ours, other, changed = [], [], []
        snapshot = self.snap()
        for number in range(WARM_UP + ROUNDS):
            sealed = self.seal(snapshot)
            took = await self._do(worker, sealed, snapshot)
            began = time.perf_counter()
            await engine.run(ECHO)
            took_there = time.perf_counter() - began
            (self.project / "0.txt").write_text(f"changed {number}\n")
            snapshot = self.snap()
            took_changed = await self._do(worker, self.seal(snapshot), snapshot)
            if number >= WARM_UP:
                ours.append(took)
                other.append(took_there)
                changed.append(took_changed)
        report.add(Row("warm worker, echo", summary(ours), summary(other), bar_ms=BAR_MS))
        report.add(Row("the same, one file of 200 changed", summary(changed), summary(other)))

    async def _do(self, worker: Worker, sealed: bytes, snapshot: Snapshot) -> float:
        async def fetch(digests: frozenset[Digest], cache: BlobCache) -> None:
            for digest in digests:
                cache.add(digest, snapshot.read(digest))

        out = self.folder / f"out-{self.number}"
        out.mkdir()
        began = time.perf_counter()
        await worker.do(sealed, fetch, out)
        return time.perf_counter() - began
