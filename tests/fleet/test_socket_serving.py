"""A worker at its socket: whoever hands over a folder waits for the order that is in it."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
import trio
import trio.testing

from fleet import worker_socket
from fleet.doer import OUTCOME_FILE, Fetch
from fleet.seal import SealError
from fleet.socket_serving import serve_orders
from fleet.worker_socket import HAND_OVER, NoWorkerError, UndoneError, hand_to_worker

Serving = tuple[Path, "FakeDoer"]


class FakeDoer:
    """Waits until it is let go, and hands back what it was given."""

    def __init__(self) -> None:
        self.begun = trio.Event()
        self.go_on = trio.Event()
        self.was_cancelled = trio.Event()
        self.error: Exception | None = None

    async def do(self, sealed: bytes, _fetch: Fetch, out: Path) -> None:
        self.begun.set()
        try:
            await self.go_on.wait()
        except trio.Cancelled:
            self.was_cancelled.set()
            raise
        if self.error:
            raise self.error
        (out / OUTCOME_FILE).write_bytes(sealed)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / "order").write_bytes(b"sealed")
    return folder


@pytest.fixture
def path(tmp_path: Path) -> Path:
    deep = tmp_path / ("deep" * 30)
    deep.mkdir()
    return deep / "worker.sock"  # longer than the kernel takes


@pytest.fixture
def doer() -> FakeDoer:
    return FakeDoer()


@pytest.fixture
async def leave(path: Path, doer: FakeDoer, nursery: trio.Nursery) -> trio.Event:
    event = trio.Event()
    await nursery.start(serve_orders, path, doer, event)
    return event


@pytest.fixture
async def serving(path: Path, doer: FakeDoer, leave: trio.Event) -> Serving:
    return path, doer


async def hand(path: Path, root: Path) -> None:
    await trio.to_thread.run_sync(hand_to_worker, path, root, "order")


async def test_an_order_is_done_where_it_lies(
    path: Path, root: Path, doer: FakeDoer, leave: trio.Event
):
    doer.go_on.set()
    await hand(path, root)
    assert (root / OUTCOME_FILE).read_bytes() == b"sealed"
    assert path.stat().st_mode & 0o777 == 0o600


async def test_why_there_is_no_outcome_is_told(
    path: Path, root: Path, doer: FakeDoer, leave: trio.Event
):
    doer.error = SealError("expired", "it came\nlate")
    doer.go_on.set()
    with pytest.raises(UndoneError, match=r"^expired: it came late$"):
        await hand(path, root)


async def test_without_a_worker_there_is_none(path: Path, root: Path):
    with pytest.raises(NoWorkerError):
        await hand(path, root)
    with socket.socket(socket.AF_UNIX) as dead, worker_socket.reachable(path) as name:
        dead.bind(name)  # and listens no more
    with pytest.raises(NoWorkerError):
        await hand(path, root)


async def test_a_worker_of_another_user_is_none(
    path: Path, root: Path, leave: trio.Event, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(worker_socket.os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(NoWorkerError, match="at the other end"):
        await hand(path, root)
    leave.set()


async def test_told_to_leave_it_ends_what_is_under_way_and_takes_no_more(
    path: Path, root: Path, doer: FakeDoer, leave: trio.Event
):
    async with trio.open_nursery() as waiting:
        waiting.start_soon(hand, path, root)
        await doer.begun.wait()
        leave.set()
        await trio.testing.wait_all_tasks_blocked()
        assert not path.exists()
        with pytest.raises(NoWorkerError):
            await hand(path, root)
        doer.go_on.set()
    assert (root / OUTCOME_FILE).exists()


async def test_a_client_that_goes_away_ends_its_run(
    path: Path, root: Path, doer: FakeDoer, leave: trio.Event
):
    with socket.socket(socket.AF_UNIX) as asked, worker_socket.reachable(path) as name:
        asked.connect(name)
        folder = os.open(root, os.O_RDONLY)
        socket.send_fds(asked, [HAND_OVER + b"order"], [folder])
        os.close(folder)
        await doer.begun.wait()
    await doer.was_cancelled.wait()
    leave.set()
    while path.exists() or [one.name for one in root.iterdir()] != ["order"]:
        await trio.lowlevel.checkpoint()


@pytest.mark.parametrize(
    ("said", "folders"),
    [
        (b"", 0),
        (b"1order", 0),
        (b"2order", 1),
        (b"1", 1),
        (b"1../order", 1),
        (b"1..", 1),
        (b"1a\0b", 1),
        (b"1order", 2),
        (b"\xff" * 1000, 1),
    ],
)
async def test_who_says_something_else_gets_nothing_done(
    serving: Serving, root: Path, said: bytes, folders: int
):
    path, doer = serving
    doer.go_on.set()
    with socket.socket(socket.AF_UNIX) as asked, worker_socket.reachable(path) as name:
        asked.connect(name)
        folder = os.open(root, os.O_RDONLY)
        if said:
            socket.send_fds(asked, [said], [folder] * folders)
        else:
            asked.shutdown(socket.SHUT_WR)
        os.close(folder)
        answer = await trio.to_thread.run_sync(asked.recv, 1000)
    assert b"something else" in answer
    assert not doer.begun.is_set()


async def test_the_socket_of_a_dead_worker_is_taken_over_and_that_of_a_living_is_not(
    path: Path, root: Path, doer: FakeDoer, nursery: trio.Nursery
):
    with socket.socket(socket.AF_UNIX) as dead, worker_socket.reachable(path) as name:
        dead.bind(name)
    leave = trio.Event()
    await nursery.start(serve_orders, path, doer, leave)
    with pytest.raises(FileExistsError, match="another worker"):
        await serve_orders(path, doer, leave)
    doer.go_on.set()
    await hand(path, root)
