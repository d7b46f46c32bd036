"""A run by a real worker, in a sandbox, beside the same run here: byte for byte the same."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from executor import LocalEngine, Request, open_engine
from executor.engine.engine import Completed
from executor.model import Limits, Result
from executor.request import PROFILES
from fleet import model
from fleet.model import PROTOCOL, Delivery, Order
from fleet.result_import import Landing
from fleet.seal import seal_order, write_public
from fleet.slot import WorkerTerms
from fleet.snapshot import take
from fleet.upload_filter import Terms
from fleet.worker import Worker, open_worker
from policy.model import Rules
from tests.executor.project.conftest import make_old
from tests.executor.project.viewing import tree
from tests.fleet.returning import RUN_ID, MemoryBlobs

BUILD = """
for n in $(seq 60); do echo "new $n" > "made/$n"; done
for n in $(seq 60); do echo more >> "old/$n"; done
for n in $(seq 61 100); do rm "old/$n"; done
for n in $(seq 101 120); do mv "old/$n" "made/moved-$n"; done
for n in $(seq 121 130); do chmod 600 "old/$n"; done
for n in $(seq 131 135); do ln "old/$n" "made/hard-$n"; ln -s "../old/$n" "made/link-$n"; done
echo obey > .envrc; echo obey > AGENTS.md; mkfifo fifo; ln -s /root/x out
"""
OUTPUT = """
head -c 33554432 /dev/zero | tr '\\0' 'o'
head -c 33550000 /dev/zero | tr '\\0' 'e' >&2
for n in $(seq 20); do head -c $((n * 1000)) /dev/zero | tr '\\0' 'a' > "art-$n.bin"; done
exit 3
"""


class Fleet:
    """A front with its engine, and a worker, without anything between them."""

    def __init__(self, local: LocalEngine, worker: Worker, key: Ed25519PrivateKey) -> None:
        self.local = local
        self.worker = worker
        self.key = key
        self.blobs = MemoryBlobs()

    async def run(self, request: Request, place: Path) -> Completed:
        """A request by the worker."""
        profile = PROFILES[request.profile]
        record = await self.local.commits.record(profile)
        snapshot = take(self.local.search, Terms(), {})
        order = Order(
            *(RUN_ID, "me", request, snapshot.root, Rules(()), profile),
            *(request.limits or Limits(), str(self.local.project), time.time() + 100),
        )

        async def fetch(missing, cache):
            for digest in missing:
                cache.add(digest, snapshot.read(digest))

        out = place / "out"
        out.mkdir(parents=True)
        await self.worker.do(seal_order(model.encode(order), self.key, PROTOCOL), fetch, out)
        files = {}
        for folder, _, names in os.walk(out):
            for path in (Path(folder, name) for name in names):
                files[str(path.relative_to(out))] = self.blobs.add(path.read_bytes())
        unseen = frozenset(snapshot.left_out)
        landing = place / "landing"
        landing.mkdir()
        commits, inline = self.local.commits, self.local.inline_bytes
        sent = Delivery(files), self.blobs, order
        where = Landing(*sent, landing, inline, commits, "a run", record, unseen)
        return await where.bring_back()


@pytest.fixture
async def fleet(project: Path, tmp_path: Path) -> AsyncIterator[Fleet]:
    key = Ed25519PrivateKey.from_private_bytes(bytes(32))
    keys = tmp_path / "fronts.toml"
    keys.write_text(f'[fronts.me]\nkey = "{write_public(key)}"\nowners = ["*"]\n')
    keys.chmod(0o600)
    terms = WorkerTerms(tmp_path / "worker", keys, at_once=1)
    state = tmp_path / "state"
    async with (
        open_engine(project=project, state_dir=state, rules=None, home=Path.home()) as local,
        open_worker(terms) as worker,
    ):
        yield Fleet(local, worker, key)


def fill(project: Path) -> None:
    (project / "old").mkdir()
    (project / "made").mkdir()
    for n in range(1, 141):
        (project / "old" / str(n)).write_text(f"old {n}\n" * n)
    make_old(project)


def told(result: Result) -> dict[str, object]:
    """A result but for what differs between any two runs."""
    form = result.to_json()
    for name in ("usage", "isolation", "changes_id", "worker", "verdict"):
        form.pop(name)
    form["artifacts"] = [(a.name, a.bytes, a.reason) for a in result.artifacts]
    return form


async def test_a_build_of_200_changes_is_as_here(fleet: Fleet, project: Path, tmp_path: Path):
    fill(project)
    request = Request("shell", BUILD, profile="build")
    remote = (await fleet.run(request, tmp_path / "run")).result
    there = tree(project, times=False)
    for name in ("old", "made"):
        for path in (project / name).iterdir():
            path.unlink()
        (project / name).rmdir()
    fill(project)
    local = (await fleet.local.run(request)).result
    assert told(remote) == told(local)
    assert there == tree(project, times=False)
    assert len(local.changed_files) >= 195
    assert {one.kind for one in local.not_committed} == {"never", "held", "refused"}
    assert local.changes_id
    assert remote.changes_id


async def test_64_mib_of_output_and_20_artifacts_are_as_here(fleet: Fleet, tmp_path: Path):
    request = Request("shell", OUTPUT, artifacts=("art-*.bin",))
    remote = await fleet.run(request, tmp_path / "run")
    local = await fleet.local.run(request)
    assert told(remote.result) == told(local.result)
    assert local.result.exit_code == 3
    for name in ("stdout_spool", "stderr_spool"):
        here, there = getattr(local, name), getattr(remote, name)
        assert here.read_bytes() == there.read_bytes()
        here.unlink()
    pairs = list(zip(remote.result.artifacts, local.result.artifacts, strict=True))
    assert len(pairs) == 20
    for there, here in pairs:
        assert Path(str(there.path)).name == Path(str(here.path)).name
        assert Path(str(there.path)).read_bytes() == Path(str(here.path)).read_bytes()


async def test_two_runs_whose_changes_meet_are_told_of_it(
    fleet: Fleet, project: Path, tmp_path: Path
):
    """The second was sent before the first came back."""
    (project / "a").write_text("before")
    record = await fleet.local.commits.record(PROFILES["build"])
    assert record is not None
    first = Request("shell", "echo first > a", profile="build")
    assert (await fleet.run(first, tmp_path / "first")).result.persists
    second = Request("shell", "echo second > a; echo new > b", profile="build")
    fleet.local.commits.record = lambda profile: _given(record)  # type: ignore[method-assign]
    result = (await fleet.run(second, tmp_path / "second")).result
    assert result.conflicts == ("a",)
    assert (project / "a").read_text() == "first\n"
    assert (project / "b").read_text() == "new\n"


async def _given(record):
    return record
