"""Workers, fronts and the engine killed at any moment: every run has its outcome, and one alone.

With `--long` as often as is promised: 300 runs while a worker is killed each second, 20 times the
front, 20 times the engine. With `-s` the figures are shown.
"""

from __future__ import annotations

import itertools
import os
import random
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
import trio

from executor.engine.engine import Completed
from executor.model import Request, RequestError, Result, Status
from tests.fleet.real_parts import (
    Site,
    WorkerProcess,
    dask,
    fronting,
    have_ready,
    until,
    working,
)
from tests.processes import alive, unique_s

SEED = 7
DEADLINE_S = 900
LOST = "its worker was lost 3 times"

# A front that sends without end, until it is killed.
FRONT = """
import os, pickle, sys
from functools import partial
from pathlib import Path
import trio
from executor.model import Request
from tests.fleet.real_parts import fronting
name, project, state = sys.argv[1:]
site = pickle.load(sys.stdin.buffer)

def tell(stream, piece):
    os.write(1, piece)

async def main():
    async with fronting(site, Path(project), Path(state)) as front, trio.open_nursery() as nursery:
        for number in range(1000):
            said = f"{name}-{number}"
            request = Request("shell", f"echo {said}; sleep 0.2")
            nursery.start_soon(partial(front.local.run, request, on_output=tell))
            await trio.sleep(0.1)

trio.run(main)
"""


def read_states(state: Path) -> Counter[str]:
    """Count the runs in the journal of a front's project by state, beside it or after its death."""
    states: Counter[str] = Counter()
    for file in state.glob("fleet/*.sqlite3"):
        with closing(sqlite3.connect(file)) as db, suppress(sqlite3.OperationalError):  # no table
            states.update(one for (one,) in db.execute("SELECT state FROM run"))
    return states


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with dask(tmp_path_factory.mktemp("dask")) as made:
        yield made


@pytest.fixture(scope="module")
def every_worker(site: Site) -> Iterator[list[WorkerProcess]]:
    with working(site, 4) as made:
        yield made


@pytest.fixture
def workers(every_worker: list[WorkerProcess]) -> list[WorkerProcess]:
    """Four workers, all ready, whatever the test before did to them."""
    have_ready(every_worker)
    return every_worker


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "data.txt").write_text("some data\n")
    return folder


async def kill_one_each_second(workers: list[WorkerProcess], killed: list[str]) -> None:
    """Kill one that takes orders, start it again, and so on.

    Where starting takes longer than seconds, at most half of them are down at a time: a run takes
    less than a worker lives, or no run could ever end.
    """
    choose = random.Random(SEED)
    while True:
        await trio.sleep(1.0)
        await until(lambda: sum(worker.is_ready for worker in workers) > len(workers) // 2)
        worker = choose.choice([one for one in workers if one.is_ready])
        await trio.to_thread.run_sync(worker.kill)
        killed.append(worker.name)
        worker.start()


async def test_a_worker_killed_each_second_costs_no_run(
    workers: list[WorkerProcess], site: Site, project: Path, tmp_path: Path, *, is_long: bool
):
    runs = 300 if is_long else 24
    state, killed, ended = tmp_path / "state", [], {}
    async with fronting(site, project, state, at_once=8) as front:

        async def run(number: int) -> None:
            request = Request("shell", f"cat data.txt; sleep 0.3; echo {number}")
            ended[number] = (await front.local.run(request)).result

        with trio.fail_after(DEADLINE_S):
            async with trio.open_nursery() as killing:
                killing.start_soon(kill_one_each_second, workers, killed)
                async with trio.open_nursery() as nursery:
                    for number in range(runs):
                        nursery.start_soon(run, number)
                killing.cancel_scope.cancel()
    say(f"{runs} runs, {len(killed)} workers killed: {count(ended.values())}")
    assert killed
    assert read_states(state) == {"done": runs}
    assert len(ended) == runs
    # By chance one may lose three workers, which is told.
    for number, result in ended.items():
        is_ok = result.status is Status.OK
        assert is_ok or LOST in result.message, result
        assert not is_ok or result.stdout.text == f"some data\n{number}\n"
    assert count(ended.values())[Status.OK] >= 0.9 * runs


async def test_a_front_that_is_killed_leaves_its_runs_to_the_next(
    workers: list[WorkerProcess], site: Site, project: Path, tmp_path: Path, *, is_long: bool
):
    rounds = 20 if is_long else 2
    state, choose = tmp_path / "state", random.Random(SEED)
    for number in range(rounds):
        command = [sys.executable, "-c", FRONT, f"front-{number}", str(project), str(state)]
        before = read_states(state).total()
        with (site.folder / "front.log").open("ab") as said:
            front = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=said, stderr=said, env=site.environment
            )
        front.stdin.write(site.form)
        front.stdin.close()
        try:
            await until(lambda: read_states(state).total() > before)  # noqa: B023
            await trio.sleep(choose.uniform(0, 1.5))
            assert front.poll() is None, (site.folder / "front.log").read_text()[-3000:]
        finally:
            front.kill()
            front.wait()
    accepted = read_states(state).total()
    left = accepted - read_states(state)["done"]
    async with fronting(site, project, state) as last:
        await until(lambda: read_states(state) == {"done": accepted}, DEADLINE_S)
        await until(lambda: len(last.kept) == left)
    results = [completed.result for _, completed in last.kept]
    say(f"{rounds} fronts killed, {accepted} runs accepted, {left} left: {count(results)}")
    assert left > 0
    assert {result.status for result in results} == {Status.OK}
    # A front tells what a run printed before it notes its end.
    told = (site.folder / "front.log").read_text().splitlines()
    said = {line for line in told if line.startswith("front-")}
    assert len(said | {result.stdout.text.strip() for result in results}) == accepted >= rounds


# A refused connection is dropped by Dask (comm/core.py, `connect`) with its socket open.
@pytest.mark.filterwarnings("ignore:unclosed <ssl.SSLSocket:ResourceWarning")
async def test_an_engine_that_is_killed_costs_no_run(
    workers: list[WorkerProcess],
    site: Site,
    project: Path,
    tmp_path: Path,
    *,
    is_long: bool,
):
    rounds = 20 if is_long else 1
    state, may_end = tmp_path / "state", trio.Event()
    ended: dict[int, Result] = {}
    refused: list[str] = []
    asked = itertools.count()
    async with fronting(site, project, state, at_once=8) as front:

        async def ask_again_and_again() -> None:
            while not may_end.is_set():
                number = next(asked)
                request = Request("shell", f"sleep 0.3; echo {number}")
                try:
                    ended[number] = (await front.local.run(request)).result
                except RequestError as error:  # nothing was accepted
                    refused.append(error.message)
                    await trio.sleep(0.2)

        with trio.fail_after(DEADLINE_S):
            async with trio.open_nursery() as nursery:
                for _ in range(8):
                    nursery.start_soon(ask_again_and_again)
                for _ in range(rounds):
                    before = len(ended)
                    await until(lambda: len(ended) > before + 4, DEADLINE_S)  # noqa: B023
                    await trio.to_thread.run_sync(site.server.kill)
                    await trio.to_thread.run_sync(site.server.restart)
                may_end.set()
    say(f"{rounds} kills of the server, {len(refused)} refused, {count(ended.values())}")
    assert all("does not answer" in message for message in refused)
    assert read_states(state) == {"done": len(ended)}
    for number, result in ended.items():
        assert (result.status, result.stdout.text) == (Status.OK, f"{number}\n"), result


async def test_a_poison_is_given_up_after_three_workers(
    workers: list[WorkerProcess], site: Site, project: Path, tmp_path: Path
):
    """Whichever worker has begun it is killed, and stays so."""
    mark = unique_s()
    killed: list[str] = []
    ended: list[Completed] = []
    began = 0.0
    async with fronting(site, project, tmp_path / "state") as front:

        async def run() -> None:
            ended.append(await front.local.run(Request("shell", f"sleep {mark}")))
            nursery.cancel_scope.cancel()

        with trio.fail_after(DEADLINE_S):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(run)
                while True:
                    await until(lambda: worker_of(mark, workers) is not None)
                    began = began or trio.current_time()
                    worker = worker_of(mark, workers)
                    await trio.to_thread.run_sync(worker.kill)
                    killed.append(worker.name)  # the next one may have it before all of it is gone
    say(f"{killed} lost, told {trio.current_time() - began:.1f} s after the first began it")
    assert len(killed) == 3
    assert ended[0].result.status is Status.SANDBOX_ERROR
    assert LOST in ended[0].result.message


def worker_of(mark: str, workers: list[WorkerProcess]) -> WorkerProcess | None:
    """The worker below which a process runs that has `mark` in its command line."""
    by_pid = {one.process.pid: one for one in workers if one.process.poll() is None}
    for found in alive(mark):
        pid = found
        with suppress(OSError):  # it ended meanwhile
            while pid not in by_pid and pid > 1:
                pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        if pid in by_pid:
            return by_pid[pid]
    return None


def count(results: object) -> Counter[Status]:
    return Counter(result.status for result in results)


def say(text: str) -> None:
    """Show it with `-s`."""
    os.write(1, f"\n{text}\n".encode())
