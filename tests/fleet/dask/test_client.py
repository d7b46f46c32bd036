"""The engine of Dask, at both ends: a real scheduler with certificates, and workers of ours."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import ssl
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import trio
import trustme

from fleet.cluster import Cluster, ClusterError, UnreachableError
from fleet.dask import client
from fleet.dask.serving import OrderDoer, Serving, serve
from fleet.front import open_cluster
from fleet.model import Cause, Delivery, Lost
from fleet.tree import BlobError, digest_of
from tests.fleet.dask.fake_doer import OFFERS, FakeDoer, order_for
from tests.fleet.dask.scheduler import (
    ALLOWED_FAILURES,
    DaskScheduler,
    certificate_files,
    dask_scheduler,
)

DEADLINE_S = 30


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory) -> Iterator[DaskScheduler]:
    with dask_scheduler(tmp_path_factory.mktemp("dask")) as started:
        yield started


@pytest.fixture
async def engine(scheduler):
    async with open_cluster(scheduler.cluster) as opened:
        yield opened


@pytest.fixture
def doer(tmp_path) -> FakeDoer:
    return FakeDoer(tmp_path / "cache")


@contextlib.asynccontextmanager
async def serving(scheduler: DaskScheduler, doer: FakeDoer, **terms) -> AsyncIterator[Serving]:
    """Serve beside the block."""
    how = Serving(**{"name": uuid.uuid4().hex, "at_once": 1, "offers": OFFERS} | terms)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve, scheduler.cluster, doer, how)
        yield how
        nursery.cancel_scope.cancel()


@contextlib.contextmanager
def process_serving(scheduler: DaskScheduler) -> Iterator[subprocess.Popen[bytes]]:
    """A worker in a process of its own."""
    front = scheduler.front
    files = [str(path) for path in (front.ca, front.certificate, front.key)]
    program = [sys.executable, "-m", "tests.fleet.dask.fake_doer", scheduler.url]
    command = [*program, scheduler.blobs, uuid.uuid4().hex, "1", *files]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def named(*contents: bytes) -> dict:
    return {digest_of(data): functools.partial(io.BytesIO, data) for data in contents}


@dataclass(frozen=True)
class Asked:
    """An order as it is submitted."""

    run_id: str
    sealed: bytes
    needs: tuple[str, ...] = ("context-mode=1", "language=python", "tier=A")
    timeout_s: float = 150


async def placed(engine, act: str, *project: bytes, **terms) -> Asked:
    """An order whose blobs are there."""
    run_id = uuid.uuid4().hex
    sealed = order_for(act, run_id, *map(digest_of, project), files=terms.pop("files", None))
    await engine.blobs.put(named(*project))
    return Asked(run_id, sealed, **terms)


async def submitted(engine, asked: Asked) -> str:
    """Submit an order; the id of its run."""
    await engine.submit(asked.run_id, asked.sealed, asked.needs, asked.timeout_s)
    return asked.run_id


async def ended(engine, run_id) -> Delivery | Lost:
    with trio.fail_after(DEADLINE_S):
        return await engine.wait(run_id)


async def until(holds) -> None:
    with trio.fail_after(DEADLINE_S):
        while not holds():  # noqa: ASYNC110 - another task's, or another process's, doing
            await trio.sleep(0.02)


async def read(engine, digest) -> bytes:
    data = io.BytesIO()
    await engine.blobs.get(digest, data.write)
    return data.getvalue()


async def test_an_order_is_done_and_all_that_it_gave_comes_back(engine, scheduler, doer):
    files = {"stdout": "o" * 5_000_000, "stderr": "", "artifacts/a.txt": "a"}
    project = [b"", b"small", os.urandom(5 << 20)]
    asked = await placed(engine, "run", *project, files=files)
    async with serving(scheduler, doer) as how:
        delivery = await ended(engine, await submitted(engine, asked))
    assert isinstance(delivery, Delivery)
    assert delivery.worker == how.name
    small = delivery.contents  # what is large is among the cluster's files
    found = {
        path: small[one] if one in small else await read(engine, one)
        for path, one in delivery.files.items()
    }
    assert digest_of(found.pop("outcome.json")) == digest_of(asked.sealed)
    assert found == {path: text.encode() for path, text in files.items()}
    assert await engine.blobs.missing([digest_of(b"a")]) == {digest_of(b"a")}
    for data in project:
        with doer.cache.open(digest_of(data)) as file:
            assert file.read() == data


async def test_a_large_order_lies_among_the_files_and_a_small_one_does_not(engine, scheduler, doer):
    small = await placed(engine, "run")
    large = await placed(engine, "run", files={"stderr": "e" * 20_000})
    orders = [digest_of(small.sealed), digest_of(large.sealed)]
    async with serving(scheduler, doer):
        for asked in (small, large):
            assert isinstance(await ended(engine, await submitted(engine, asked)), Delivery)
    assert await engine.blobs.missing(orders) == {orders[0]}


@pytest.mark.parametrize(
    "answer",
    [
        {"files": {"outcome.json": digest_of(b"{}")}, "contents": {"outcome.json": b"[]"}},
        {"files": {}, "contents": {"outcome.json": b"{}"}},
        {"files": {"outcome.json": digest_of(b"{}")}, "contents": ["outcome.json"]},
        {"files": {"outcome.json": digest_of(b"{}")}},
        "nothing",
    ],
    ids=["another", "no file's", "a list", "none", "no answer"],
)
async def test_an_answer_that_does_not_hold_loses_the_run(
    engine, scheduler, doer, answer, monkeypatch
):
    if isinstance(answer, dict):
        files = {path: (one.hash, one.size_bytes) for path, one in answer["files"].items()}
        answer = {**answer, "files": files, "worker": "liar"}

    async def lie(*_: object) -> object:
        return answer

    async with serving(scheduler, doer):
        honest = await submitted(engine, await placed(engine, "run"))
        assert isinstance(await ended(engine, honest), Delivery)
        monkeypatch.setattr(OrderDoer, "do", lie)
        found = await ended(engine, await submitted(engine, await placed(engine, "run")))
    assert isinstance(found, Lost)
    assert "its answer" in found.detail


async def test_a_worker_does_as_many_at_once_as_it_says_and_no_more(engine, scheduler, doer):
    run_ids = [await submitted(engine, await placed(engine, "wait")) for _ in range(5)]
    async with serving(scheduler, doer, at_once=3):
        await until(lambda: doer.under_way == 3)
        doer.go.set()
        deliveries = [await ended(engine, run_id) for run_id in run_ids]
    assert all(isinstance(one, Delivery) for one in deliveries)
    assert doer.most == 3
    assert sorted(doer.began) == sorted(run_ids)


async def test_an_order_is_given_to_none_but_a_worker_of_its_kind(engine, scheduler, doer):
    asked = await placed(engine, "run", needs=("context-mode=2",))
    run_id = await submitted(engine, asked)
    async with serving(scheduler, doer):
        control = await submitted(engine, await placed(engine, "run"))
        assert isinstance(await ended(engine, control), Delivery)
        assert doer.began == [control]
    async with serving(scheduler, doer, offers=("context-mode=2",)):
        assert isinstance(await ended(engine, run_id), Delivery)


async def test_why_no_worker_begins_an_order_is_told(engine, scheduler, doer):
    run_id = await submitted(engine, await placed(engine, "wait"))
    with trio.fail_after(DEADLINE_S):
        while "no worker offers what it needs" not in await engine.find_delay(run_id):  # noqa: ASYNC110 - another process
            await trio.sleep(0.02)  # until the scheduler has it
    async with serving(scheduler, doer):
        await until(lambda: doer.began)
        assert await engine.find_delay(run_id) == ""
        doer.go.set()
        assert isinstance(await ended(engine, run_id), Delivery)


async def test_asking_again_joins_what_is_under_way(engine, scheduler, doer):
    asked = await placed(engine, "wait")
    async with (
        serving(scheduler, doer, at_once=2),
        open_cluster(scheduler.cluster) as other,
    ):
        run_id = await submitted(engine, asked)
        await until(lambda: doer.began)
        again = await submitted(other, asked)
        assert again == run_id
        control = await submitted(other, await placed(other, "run"))
        assert isinstance(await ended(other, control), Delivery)
        doer.go.set()
        assert await ended(engine, run_id) == await ended(other, again)
    assert doer.began == [asked.run_id, control]


async def test_another_front_waits_by_its_id_alone(engine, scheduler, doer):
    asked = await placed(engine, "wait")
    async with (
        serving(scheduler, doer),
        open_cluster(scheduler.cluster) as other,
    ):
        run_id = await submitted(engine, asked)
        await until(lambda: doer.began)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ended, other, run_id)
            await trio.sleep(0.2)
            doer.go.set()


async def test_a_run_goes_on_without_its_front_and_the_next_one_joins_it(engine, scheduler, doer):
    async with serving(scheduler, doer, at_once=2):
        async with open_cluster(scheduler.cluster) as first:
            asked = await placed(first, "wait")
            run_id = await submitted(first, asked)
            await until(lambda: doer.began)
        assert await submitted(engine, asked) == run_id
        # What a front says is heard in its order: when this is done, that was heard.
        control = await submitted(engine, await placed(engine, "run"))
        assert isinstance(await ended(engine, control), Delivery)
        doer.go.set()
        assert isinstance(await ended(engine, run_id), Delivery)
    assert (doer.began, doer.cancelled) == ([asked.run_id, control], [])


async def test_a_run_that_the_scheduler_does_not_know_is_lost(engine):
    lost = await ended(engine, "run-1234")
    assert lost.cause is Cause.ENGINE


@pytest.mark.parametrize(
    ("act", "told"),
    [
        ("seal", (Cause.WORKER, "changed: the order differs from what")),
        ("full", (Cause.WORKER, "No space left")),
        ("break", (Cause.WORKER, 'KeyError: "a worker\'s own"')),
    ],
)
async def test_why_a_worker_has_no_outcome_is_told(engine, scheduler, doer, act, told):
    async with serving(scheduler, doer) as how:
        run_id = await submitted(engine, await placed(engine, act))
        lost = await ended(engine, run_id)
    assert isinstance(lost, Lost)
    assert (lost.cause, lost.worker) == (told[0], how.name)
    assert told[1] in lost.detail


async def test_a_lost_order_that_is_asked_for_again_is_done_again(engine, scheduler, doer):
    asked = await placed(engine, "full")
    async with serving(scheduler, doer):
        for _ in range(2):
            assert isinstance(await ended(engine, await submitted(engine, asked)), Lost)
    assert doer.began == [asked.run_id] * 2


async def test_an_order_whose_blobs_are_gone_is_lost_by_that(engine, scheduler, doer):
    asked = await placed(engine, "run")
    sealed = order_for("run", asked.run_id, digest_of(b"never put"))
    asked = replace(asked, sealed=sealed)
    async with serving(scheduler, doer):
        lost = await ended(engine, await submitted(engine, asked))
    assert isinstance(lost, Lost)
    assert lost.cause is Cause.BLOB
    assert digest_of(b"never put").hash in lost.detail


async def test_an_order_that_takes_longer_than_its_placement_gives_it_is_ended(
    engine, scheduler, doer
):
    asked = await placed(engine, "wait", timeout_s=0.3)
    async with serving(scheduler, doer):
        lost = await ended(engine, await submitted(engine, asked))
    assert isinstance(lost, Lost)
    assert doer.cancelled == [asked.run_id]


async def test_cancelling_an_order_ends_it_at_the_worker(engine, scheduler, doer):
    async with serving(scheduler, doer):
        run_id = await submitted(engine, await placed(engine, "wait"))
        await until(lambda: doer.began)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(engine.cancel, run_id)
            lost = await ended(engine, run_id)
        assert (lost.run_id, lost.cause) == (run_id, Cause.CANCELLED)
        await until(lambda: doer.cancelled == [run_id])
        other = await ended(engine, await submitted(engine, await placed(engine, "run")))
        assert isinstance(other, Delivery)
    await engine.cancel(run_id)


async def test_a_worker_that_leaves_ends_what_it_has_and_takes_nothing_new(engine, scheduler, doer):
    how = Serving("leaving", 2, OFFERS)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve, scheduler.cluster, doer, how)
        first = await submitted(engine, await placed(engine, "wait"))
        await until(lambda: doer.began)
        how.leave.set()
        await trio.sleep(0.3)  # until the scheduler has heard
        second = await submitted(engine, await placed(engine, "run"))
        doer.go.set()
        assert isinstance(await ended(engine, first), Delivery)
    assert doer.began == [first]
    async with serving(scheduler, doer):
        assert isinstance(await ended(engine, second), Delivery)


async def test_what_a_worker_has_when_it_is_stopped_goes_to_another(
    engine, scheduler, doer, tmp_path
):
    other = FakeDoer(tmp_path / "other")
    other.go.set()
    run_id = await submitted(engine, await placed(engine, "wait"))
    async with serving(scheduler, doer):
        await until(lambda: doer.began)
    async with serving(scheduler, other):
        assert isinstance(await ended(engine, run_id), Delivery)
    assert doer.cancelled == other.ended == [run_id]


async def test_what_a_killed_worker_had_is_done_by_another(engine, scheduler, doer):
    run_id = await submitted(engine, await placed(engine, "die"))
    with process_serving(scheduler) as process:
        assert await trio.to_thread.run_sync(process.stdout.readline) == b"dying\n"
        process.kill()
    async with serving(scheduler, doer):
        await until(lambda: doer.began == [run_id])
        await engine.cancel(run_id)


async def test_an_order_that_kills_its_workers_is_given_up_after_some(engine, scheduler):
    run_id = await submitted(engine, await placed(engine, "die"))
    for _ in range(ALLOWED_FAILURES + 1):
        with process_serving(scheduler) as process:
            assert await trio.to_thread.run_sync(process.stdout.readline) == b"dying\n"
    lost = await ended(engine, run_id)
    assert isinstance(lost, Lost)
    assert lost.cause is Cause.WORKER


async def test_a_scheduler_that_dies_forgets_and_is_asked_again(engine, scheduler, doer):
    asked = await placed(engine, "wait")
    async with serving(scheduler, doer):
        run_id = await submitted(engine, asked)
        await until(lambda: doer.began)
        scheduler.kill()
        with pytest.raises(UnreachableError):
            await ended(engine, run_id)
        with pytest.raises(UnreachableError):
            await ended(engine, run_id)
        await until(lambda: doer.cancelled)
        doer.go.set()
        await trio.to_thread.run_sync(scheduler.start)
        lost = await ended(engine, run_id)
        assert isinstance(lost, Lost)
        assert lost.cause is Cause.ENGINE
        assert isinstance(await ended(engine, await submitted(engine, asked)), Delivery)


async def test_certificates_of_another_authority_reach_nothing(scheduler, doer, tmp_path):
    trustme.CA().cert_pem.write_to_path(tmp_path / "ca.pem")
    stranger = replace(
        scheduler.cluster, credentials=replace(scheduler.front, ca=tmp_path / "ca.pem")
    )
    with pytest.raises((ClusterError, UnreachableError), match="certificate of 127"):
        async with open_cluster(stranger):
            pass
    how = Serving("stranger", 1, OFFERS)
    with trio.fail_after(DEADLINE_S), pytest.raises(ClusterError, match="certificate of 127"):
        await serve(stranger, doer, how)


async def test_a_certificate_that_the_scheduler_refuses_is_told(scheduler, doer, tmp_path):
    certificate_files(tmp_path, "front", trustme.CA().issue_cert("front.example"))
    own = {"certificate": tmp_path / "front.pem", "key": tmp_path / "front.key"}
    stranger = replace(scheduler.cluster, credentials=replace(scheduler.front, **own))
    with pytest.raises(ClusterError, match="refuses this connection"):
        async with open_cluster(stranger):
            pass
    how = Serving("stranger", 1, OFFERS)
    with trio.fail_after(DEADLINE_S), pytest.raises(ClusterError, match="refuses this connection"):
        await serve(stranger, doer, how)


@pytest.mark.parametrize("is_plain", [True, False], ids=["plain", "TLS"])
@pytest.mark.parametrize(
    ("ends", "told"), [(True, "closed the connection"), (False, "no answer")], ids=["ends", "waits"]
)
async def test_what_does_not_greet_is_no_scheduler(scheduler, monkeypatch, is_plain, ends, told):
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(scheduler.folder / "server.pem", scheduler.folder / "server.key")

    async def take(stream: trio.SocketStream) -> None:
        with contextlib.suppress(trio.BrokenResourceError):  # the other side waits no longer
            if not is_plain:
                await trio.SSLStream(stream, context, server_side=True).do_handshake()
            if not ends:
                await trio.sleep_forever()

    if not ends:
        monkeypatch.setattr(client, "CONNECT_S", 0.01)
    async with trio.open_nursery() as nursery:
        listen = functools.partial(trio.serve_tcp, take, 0, host="127.0.0.1")
        (listener,) = await nursery.start(listen)
        cluster = Cluster(*listener.socket.getsockname(), None, "")
        security = None if is_plain else client.security_of(scheduler.front)
        with pytest.raises(UnreachableError, match=told):
            await client.try_out(cluster, security)
        nursery.cancel_scope.cancel()


async def test_trying_a_scheduler_out_drops_nobody_else(engine, scheduler, doer):
    """A scheduler that can't write to one connection may drop the next one that it reads."""
    cluster, security = scheduler.cluster, client.security_of(scheduler.front)
    before = await engine.connect()
    async with serving(scheduler, doer):
        run_id = await submitted(engine, await placed(engine, "wait"))
        await until(lambda: doer.began)
        for _ in range(20):
            await client.try_out(cluster, security)
            assert await engine.find_delay(run_id) == ""
        doer.go.set()
        assert isinstance(await ended(engine, run_id), Delivery)
    assert await engine.connect() is before


async def test_a_scheduler_that_is_not_there_is_told(scheduler, tmp_path):
    with pytest.raises(UnreachableError, match="no scheduler"):
        async with open_cluster(Cluster("127.0.0.1", 1, None, tmp_path.as_uri())):
            pass


async def test_a_worker_that_is_none_of_ours_says_so(scheduler, tmp_path):
    program = """
import asyncio, sys
from distributed import Worker
from distributed.security import Security
async def main():
    url, ca, cert, key = sys.argv[1:]
    security = Security(tls_ca_file=ca, tls_worker_cert=cert, tls_worker_key=key)
    names = ("run", "context-mode=1", "tier=A", "language=python")
    worker = await Worker(url, security=security, resources=dict.fromkeys(names, 1))
    await worker.finished()
asyncio.run(main())
"""
    front = scheduler.front
    url = scheduler.url.replace("dask+tls", "tls")
    files = [str(path) for path in (front.ca, front.certificate, front.key)]
    with subprocess.Popen([sys.executable, "-c", program, url, *files]) as process:
        try:
            async with open_cluster(scheduler.cluster) as engine:
                lost = await ended(engine, await submitted(engine, await placed(engine, "run")))
        finally:
            process.kill()
    assert isinstance(lost, Lost)
    assert lost.cause is Cause.WORKER
    assert "context-mode serve worker --cluster" in lost.detail


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("nothing://x", "nothing"),
        ("file:///proc/none", "cannot be used"),
    ],
)
async def test_a_place_for_blobs_that_does_not_do_is_told(scheduler, url, words):
    with pytest.raises(ClusterError, match=words):
        async with open_cluster(replace(scheduler.cluster, blobs=url)):
            pass


async def test_a_blob_that_was_changed_in_its_place_is_not_taken(engine, scheduler):
    await engine.blobs.put(named(b"one"))
    digest = digest_of(b"one")
    place = Path(scheduler.folder / "blobs" / digest.hash[:2] / f"{digest.hash}-3")
    assert place.read_bytes() == b"one"
    place.write_bytes(b"two")
    with pytest.raises(BlobError, match="does not match it"):
        await read(engine, digest)
