"""A worker of ours at a real server: what it is given, hands back, and does when either dies."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace

import pytest
import trio
import trustme

from fleet.blob_cache import BlobCache
from fleet.dispatcher import Delivery, Placement
from fleet.doer import OUTPUTS
from fleet.engines import open_engine
from fleet.engines.serving import Serving, serve
from fleet.errors import ClusterError, UnreachableError
from fleet.model import Cause, Lost
from fleet.tree import Entry, build, digest_of
from tests.fleet.engines.fake_doer import PROPERTIES, FakeDoer, order_for
from tests.fleet.engines.remote_server import RemoteServer, missing_part, remote_server

LEASE_S = 5  # the server demands over 3.75
DEADLINE_S = 60
pytestmark = pytest.mark.skipif(bool(missing_part()), reason=missing_part())


@pytest.fixture(scope="module")
def server() -> Iterator[RemoteServer]:
    with remote_server(LEASE_S) as started:
        yield started


@pytest.fixture
async def engine(server):
    async with open_engine(server.url, server.front) as opened:
        yield opened


@pytest.fixture
def doer(tmp_path) -> FakeDoer:
    return FakeDoer(tmp_path / "cache")


@contextlib.asynccontextmanager
async def serving(server: RemoteServer, doer: FakeDoer, **terms) -> AsyncIterator[Serving]:
    """Serve beside the block."""
    how = Serving(**{"name": uuid.uuid4().hex, "at_once": 1, "properties": PROPERTIES} | terms)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve, server.url, server.front, "", doer, how)
        yield how
        nursery.cancel_scope.cancel()


def named(*contents: bytes) -> dict:
    return {digest_of(data): functools.partial(io.BytesIO, data) for data in contents}


async def placed(engine, act: str, *project: bytes, **terms) -> Placement:
    """An order whose blobs are there."""
    run_id = uuid.uuid4().hex
    sealed = order_for(act, run_id, *map(digest_of, project), files=terms.pop("files", None))
    root = build([Entry("order", digest_of(sealed)), Entry("project")])
    await engine.blobs.put(named(*project))
    made = Placement(
        run_id=run_id,
        owner="alice",
        order=digest_of(sealed),
        command=("context-mode", "worker", "--once", "order"),
        root=root.root,
        outputs=OUTPUTS,
        properties=(("context-mode", "1"), ("language", "python"), ("tier", "A")),
        timeout_s=150,
        own={digest_of(sealed): sealed, **root.folders},
    )
    return replace(made, **terms)


async def test_the_order_in_the_folder_is_done_whatever_the_salt_names(engine, server, doer):
    asked = await placed(engine, "run")
    other = order_for("run", "another")
    asked = replace(asked, order=digest_of(other), own={**asked.own, digest_of(other): other})
    async with serving(server, doer):
        assert isinstance(await ended(engine, await engine.submit(asked)), Delivery)
    assert doer.began == [asked.run_id]


async def ended(engine, ticket) -> Delivery | Lost:
    """What comes of an order; a server that does not answer is asked again."""
    with trio.fail_after(DEADLINE_S):
        while True:
            try:
                return await engine.wait(ticket)
            except UnreachableError:
                await trio.sleep(0.2)


async def until(holds) -> None:
    with trio.fail_after(DEADLINE_S):
        while not holds():  # noqa: ASYNC110 - another task's, or another process's, doing
            await trio.sleep(0.02)


async def read(engine, digest) -> bytes:
    data = io.BytesIO()
    await engine.blobs.get(digest, data.write)
    return data.getvalue()


async def test_an_order_is_done_and_all_that_it_gave_comes_back(engine, server, doer):
    files = {"stdout": "o" * 5_000_000, "stderr": "", "artifacts/a.txt": "a", "artifacts/ü": "b"}
    project = [b"", b"small", os.urandom(5 << 20)]
    asked = await placed(engine, "run", *project, files=files)
    async with serving(server, doer) as how:
        delivery = await ended(engine, await engine.submit(asked))
    assert isinstance(delivery, Delivery)
    assert delivery.worker == how.name
    assert doer.began == [asked.run_id]
    found = {path: await read(engine, one) for path, one in delivery.files.items()}
    outcome = found.pop("outcome.json")
    assert digest_of(outcome) == asked.order
    assert found == {path: text.encode() for path, text in files.items()}
    for data in project:
        with doer.cache.open(digest_of(data)) as file:
            assert file.read() == data


async def test_a_worker_does_as_many_at_once_as_it_says_and_no_more(engine, server, doer):
    tickets = [await engine.submit(await placed(engine, "wait")) for _ in range(5)]
    async with serving(server, doer, at_once=3):
        await until(lambda: doer.under_way == 3)
        doer.go.set()
        deliveries = [await ended(engine, ticket) for ticket in tickets]
    assert all(isinstance(one, Delivery) for one in deliveries)
    assert doer.most == 3
    assert sorted(doer.began) == sorted(ticket.run_id for ticket in tickets)


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ({"command": ("rm", "-rf", "/")}, "and no other"),
        ({"command": ("context-mode", "worker", "--once")}, "and no other"),
        ({"root": digest_of(b"")}, "no file order"),
    ],
)
async def test_what_is_no_order_is_refused(engine, server, doer, terms, words):
    asked = await placed(engine, "run", **terms)
    await engine.blobs.put(named(b""))
    async with serving(server, doer):
        lost = await ended(engine, await engine.submit(asked))
        assert isinstance(lost, Lost)
        assert (lost.cause, lost.run_id) == (Cause.WORKER, asked.run_id)
        assert words in lost.detail
        assert doer.began == []
        # The control: the worker does an order beside it.
        control = await ended(engine, await engine.submit(await placed(engine, "run")))
    assert isinstance(control, Delivery)


@pytest.mark.parametrize(
    ("act", "told"),
    [
        ("seal", (Cause.WORKER, "changed: the order is not as", 0)),
        ("full", (Cause.WORKER, "No space left", 1)),
        ("break", (Cause.WORKER, 'KeyError: "a worker\'s own"', 1)),
    ],
)
async def test_why_a_worker_has_no_outcome_is_told(engine, server, doer, act, told):
    cause, words, times = told
    asked = await placed(engine, act)
    async with serving(server, doer):
        lost = await ended(engine, await engine.submit(asked))
    assert isinstance(lost, Lost)
    assert lost.cause is cause
    assert words in lost.detail
    assert doer.began == [asked.run_id] * times


async def test_an_order_whose_blobs_are_gone_is_lost_by_that(engine, server, doer):
    asked = await placed(engine, "run", b"here")
    gone = order_for("run", asked.run_id, digest_of(b"here"), digest_of(b"never put"))
    root = build([Entry("order", digest_of(gone))])
    await engine.blobs.put(named(gone, *root.folders.values()))
    async with serving(server, doer):
        lost = await ended(engine, await engine.submit(replace(asked, root=root.root)))
    assert isinstance(lost, Lost)
    assert lost.cause is Cause.BLOB
    assert digest_of(b"never put").hash in lost.detail


async def test_an_order_that_takes_longer_than_its_placement_gives_it_is_ended(
    engine, server, doer
):
    asked = await placed(engine, "wait", timeout_s=0.5)
    async with serving(server, doer):
        lost = await ended(engine, await engine.submit(asked))
    assert isinstance(lost, Lost)
    assert doer.cancelled == [asked.run_id]


@pytest.mark.parametrize("at_once", [1, 2], ids=["full", "with room"])
async def test_cancelling_an_order_ends_it_at_the_worker(engine, server, doer, at_once):
    ticket = await engine.submit(await placed(engine, "wait"))
    async with serving(server, doer, at_once=at_once):
        await until(lambda: doer.under_way)
        await engine.cancel(ticket)
        await until(lambda: doer.cancelled == [ticket.run_id])
        # And it goes on with others.
        other = await ended(engine, await engine.submit(await placed(engine, "run")))
    assert isinstance(other, Delivery)


async def test_a_run_that_outlasts_the_lease_is_not_given_to_another(
    engine, server, doer, tmp_path
):
    other = FakeDoer(tmp_path / "other")
    ticket = await engine.submit(await placed(engine, f"sleep {LEASE_S + 2}"))
    async with serving(server, doer):
        await until(lambda: doer.began)
        async with serving(server, other):
            assert isinstance(await ended(engine, ticket), Delivery)
    assert (doer.ended, other.began) == ([ticket.run_id], [])


async def test_what_a_worker_has_when_it_is_stopped_goes_to_another_at_once(
    engine, server, doer, tmp_path
):
    other = FakeDoer(tmp_path / "other")
    ticket = await engine.submit(await placed(engine, "wait"))
    async with serving(server, doer):
        await until(lambda: doer.began)
    other.go.set()
    with trio.fail_after(LEASE_S - 1):  # before anybody would miss it
        async with serving(server, other):
            assert isinstance(await ended(engine, ticket), Delivery)
    assert doer.cancelled == other.ended == [ticket.run_id]


async def test_a_worker_that_leaves_ends_what_it_has_and_takes_nothing_new(engine, server, doer):
    first = await engine.submit(await placed(engine, "wait"))
    how = Serving("leaving", 2, PROPERTIES)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve, server.url, server.front, "", doer, how)
        await until(lambda: doer.began)
        how.leave.set()
        await trio.sleep(0.3)  # until the server has heard
        second = await engine.submit(await placed(engine, "run"))
        doer.go.set()
        assert isinstance(await ended(engine, first), Delivery)
    assert doer.began == [first.run_id]
    async with serving(server, doer):
        assert isinstance(await ended(engine, second), Delivery)


async def test_what_a_killed_worker_had_is_done_by_another(engine, server, doer):
    ticket = await engine.submit(await placed(engine, "die"))
    files = [str(path) for path in (server.front.ca, server.front.certificate, server.front.key)]
    command = [sys.executable, "-m", "tests.fleet.engines.fake_doer", server.url, "", "dies", "1"]
    with subprocess.Popen([*command, *files], stdout=subprocess.PIPE) as process:
        assert await trio.to_thread.run_sync(process.stdout.readline) == b"dying\n"
        process.kill()
    async with serving(server, doer):
        await until(lambda: doer.began == [ticket.run_id])
        await engine.cancel(ticket)


async def test_a_run_goes_on_while_the_server_is_killed_and_comes_back(engine, server, doer):
    ticket = await engine.submit(await placed(engine, "wait"))
    async with serving(server, doer):
        await until(lambda: doer.began)
        server.kill()
        await trio.sleep(0.5)
        server.start()
        doer.go.set()
        await trio.to_thread.run_sync(server.wait_until_it_answers)
        assert isinstance(await ended(engine, ticket), Delivery)
        other = await ended(engine, await engine.submit(await placed(engine, "run")))
        assert isinstance(other, Delivery)
    assert set(doer.ended) >= {ticket.run_id}


async def test_a_worker_that_starts_before_its_server_waits_for_it(engine, server, doer):
    server.kill()
    async with serving(server, doer):
        await trio.sleep(0.5)
        server.start()
        await trio.to_thread.run_sync(server.wait_until_it_answers)
        ticket = await engine.submit(await placed(engine, "run"))
        assert isinstance(await ended(engine, ticket), Delivery)


async def test_a_server_of_another_authority_is_given_nothing(server, doer, tmp_path):
    trustme.CA().cert_pem.write_to_path(tmp_path / "ca.pem")
    files = replace(server.front, ca=tmp_path / "ca.pem")
    with trio.fail_after(DEADLINE_S), pytest.raises(ClusterError, match="CERTIFICATE_VERIFY"):
        await serve(server.url, files, "", doer, Serving("stranger", 1, PROPERTIES))


async def test_a_worker_that_the_server_has_no_place_for_is_told(server, doer):
    url = server.url.replace("/main", "/none")
    with trio.fail_after(DEADLINE_S), pytest.raises(ClusterError, match="none"):
        await serve(url, server.front, "", doer, Serving("nowhere", 1, PROPERTIES))


async def test_fetched_blobs_are_those_that_were_asked_for(engine, tmp_path):
    contents = [os.urandom(9_000 + number) for number in range(700)] + [os.urandom(5 << 20), b""]
    await engine.blobs.put(named(*contents))
    cache = BlobCache(tmp_path / "cache")
    await engine.blobs.fetch(frozenset(map(digest_of, contents)), cache)
    assert all(cache.has(digest_of(data)) for data in contents)
