"""The engine of the Remote Execution API, tried against a real server with certificates."""

from __future__ import annotations

import functools
import io
import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import replace

import pytest
import trio
import trustme

from fleet.dispatcher import LOST_MAX, Delivery, Placement
from fleet.engines import open_engine
from fleet.errors import BlobError, ClusterError, UnreachableError
from fleet.model import Cause, Lost, Ticket
from fleet.tree import Digest, digest_of
from tests.fleet.engines.bot import Done, working
from tests.fleet.engines.remote_server import (
    RemoteServer,
    certificate_files,
    missing_part,
    remote_server,
)

DEADLINE_S = 60
pytestmark = pytest.mark.skipif(bool(missing_part()), reason=missing_part())


@pytest.fixture(scope="module")
def server() -> Iterator[RemoteServer]:
    with remote_server() as started:
        yield started


@pytest.fixture
async def engine(server):
    async with open_engine(server.url, server.front) as opened:
        yield opened


async def ended(engine, ticket: Ticket) -> Delivery | Lost:
    with trio.fail_after(DEADLINE_S):
        return await engine.wait(ticket)


def named(*contents: bytes) -> dict[Digest, functools.partial[io.BytesIO]]:
    return {digest_of(data): functools.partial(io.BytesIO, data) for data in contents}


async def read(engine, digest: Digest) -> bytes:
    data = io.BytesIO()
    await engine.blobs.get(digest, data.write)
    return data.getvalue()


async def placement(engine, **changes) -> Placement:
    """An order."""
    order = uuid.uuid4().hex.encode()
    made = Placement(
        run_id=order.decode(),
        owner="alice",
        order=digest_of(order),
        command=("context-mode", "worker", "--once", "order.json"),
        root=digest_of(b""),  # a folder with nothing in it
        outputs=("outcome.json", "artifacts"),
        properties=(("tier", "A"), ("context-mode", "1")),
        timeout_s=150,
        own={digest_of(order): order, digest_of(b""): b""},
    )
    return replace(made, **changes)


def salt_of(action) -> bytes:
    """A run's id, by what tells its action from others."""
    return bytes(action.salt).split()[0]


def does(command, action) -> Done:
    """Hands back how it was called."""
    said = " ".join(command.arguments).encode()
    return Done({"outcome.json": said}, {"artifacts": {"salt": salt_of(action)}})


@pytest.mark.parametrize("size", [0, 1, 4_000_000, (4 << 20) - 100, 4 << 20, 10_000_001])
async def test_a_blob_of_any_size_comes_back_as_it_was(engine, size):
    data = os.urandom(size)
    await engine.blobs.put(named(data))
    await engine.blobs.put(named(data))  # which takes nothing away
    assert await engine.blobs.missing([digest_of(data)]) == frozenset()
    assert await read(engine, digest_of(data)) == data


async def test_many_blobs_of_all_sizes_go_together(engine):
    contents = [os.urandom(9_000 + number) for number in range(1_000)] + [os.urandom(5 << 20)]
    assert await engine.blobs.missing(named(*contents)) == set(named(*contents))
    await engine.blobs.put(named(*contents))
    assert await engine.blobs.missing(named(*contents, b"absent")) == {digest_of(b"absent")}
    for data in contents[::250]:
        assert await read(engine, digest_of(data)) == data


async def test_a_blob_that_is_absent_is_told(engine):
    with pytest.raises(BlobError, match=digest_of(b"no").hash):
        await read(engine, digest_of(b"no"))


@pytest.mark.parametrize("size", [100, 6 << 20], ids=["in a batch", "as a stream"])
@pytest.mark.parametrize("change", [b"", b"longer"], ids=["shorter", "longer"])
async def test_a_content_that_changed_meanwhile_is_not_kept(engine, size, change):
    data = os.urandom(size)
    other = data + change if change else data[:-1]
    with pytest.raises(BlobError, match="shorter or longer"):
        await engine.blobs.put({digest_of(data): functools.partial(io.BytesIO, other)})
    assert await engine.blobs.missing([digest_of(data)]) == {digest_of(data)}


@pytest.mark.parametrize("size", [100, 6 << 20], ids=["in a batch", "as a stream"])
async def test_a_content_that_is_another_is_refused_by_the_server(engine, size):
    data = os.urandom(size)
    with pytest.raises(BlobError):
        await engine.blobs.put({digest_of(data): functools.partial(io.BytesIO, bytes(size))})
    assert await engine.blobs.missing([digest_of(data)]) == {digest_of(data)}


async def test_an_order_is_done_by_a_worker_of_its_kind(engine, server):
    asked = await placement(engine)
    with working(server, "right", does, tier="A", context_mode="1"):
        ticket = await engine.submit(asked)
        delivery = await ended(engine, ticket)
    assert isinstance(ticket, Ticket)
    assert (ticket.run_id, ticket.order) == (asked.run_id, asked.order)
    assert isinstance(delivery, Delivery)
    assert delivery.worker == "right"
    assert set(delivery.files) == {"outcome.json", "artifacts/salt"}
    said = await read(engine, delivery.files["outcome.json"])
    assert said == b"context-mode worker --once order.json"
    assert await read(engine, delivery.files["artifacts/salt"]) == asked.run_id.encode()


async def test_an_equal_order_joins_what_is_under_way_and_takes_what_was_kept(engine, server):
    asked, begin = await placement(engine), threading.Event()

    def slowly(command, action) -> Done:
        begin.wait(DEADLINE_S)
        return does(command, action)

    with working(server, "slow", slowly, tier="A", context_mode="1") as bot:
        tickets = [await engine.submit(asked) for _ in range(3)]
        begin.set()
        deliveries = [await ended(engine, ticket) for ticket in tickets]
        kept = await ended(engine, await engine.submit(asked))
        assert bot.given == 1
    assert deliveries == [deliveries[0]] * 3
    assert kept == replace(deliveries[0], was_kept=True)


async def test_another_front_waits_by_the_ticket_alone(engine, server):
    ticket = await engine.submit(await placement(engine))
    async with open_engine(server.url, server.front) as other:
        with working(server, "late", does, tier="A", context_mode="1"):
            assert isinstance(await ended(other, ticket), Delivery)
            assert await ended(engine, ticket) == await ended(other, ticket)


async def test_two_servers_are_open_at_once_and_closed_in_any_order(engine, server):
    first = open_engine(server.url, server.front)
    await first.__aenter__()
    async with open_engine(server.url, server.front) as second:
        await first.__aexit__(None, None, None)
        assert await second.blobs.missing([digest_of(b"none")])
    assert await engine.blobs.missing([digest_of(b"none")])


async def test_what_goes_wrong_in_the_block_is_raised_as_it_is(server):
    with pytest.raises(KeyError, match="own"):
        async with open_engine(server.url, server.front):
            raise KeyError("own")


async def test_who_stops_waiting_leaves_the_order_as_it_is(engine, server):
    ticket = await engine.submit(await placement(engine))
    with trio.move_on_after(0.2):
        await ended(engine, ticket)
    with working(server, "later", does, tier="A", context_mode="1"):
        assert isinstance(await ended(engine, ticket), Delivery)


async def test_an_order_that_is_cancelled_has_no_delivery(engine):
    ticket = await engine.submit(await placement(engine))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(engine.cancel, ticket)
        lost = await ended(engine, ticket)
    assert (lost.run_id, lost.cause) == (ticket.run_id, Cause.CANCELLED)
    await engine.cancel(ticket)
    await engine.cancel(replace(ticket, name=f"main/{uuid.uuid4()}"))


async def test_a_ticket_that_the_server_does_not_know_is_lost(engine):
    ticket = Ticket("run-1234", "reapi", f"main/{uuid.uuid4()}", digest_of(b""))
    lost = await ended(engine, ticket)
    assert lost.cause is Cause.ENGINE


async def test_why_no_worker_begins_an_order_is_told(engine, server):
    ticket, may_end = await engine.submit(await placement(engine)), threading.Event()
    assert "or there is none" in await engine.find_delay(ticket)

    def waits(command, action) -> Done:
        may_end.wait(DEADLINE_S)
        return does(command, action)

    with working(server, "slow", waits, tier="A", context_mode="1"):
        with trio.fail_after(DEADLINE_S):
            while await engine.find_delay(ticket):  # noqa: ASYNC110 - another process
                await trio.sleep(0.05)
        may_end.set()
        assert isinstance(await ended(engine, ticket), Delivery)
    assert await engine.find_delay(replace(ticket, name="main/never-was")) == ""


async def test_a_worker_whose_program_fails_loses_the_order(engine, server):
    def fails(command, action) -> Done:
        return Done(exit_code=3, stderr=b"no such program")

    ticket = await engine.submit(await placement(engine))
    with working(server, "broken", fails, tier="A", context_mode="1"):
        lost = await ended(engine, ticket)
    assert (lost.cause, lost.worker) == (Cause.WORKER, "broken")
    assert "ended with 3: no such program" in lost.detail


async def test_an_order_that_every_worker_loses_is_given_up(engine, server):
    asked, given = await placement(engine), []

    def loses(command, action) -> None:
        given.append(salt_of(action).decode())
        time.sleep(0.5)  # to be lost takes seconds, in which a front hears of the one before

    ticket = await engine.submit(asked)
    with working(server, "poisoned", loses, tier="A", context_mode="1"):
        lost = await ended(engine, ticket)
    assert given == [asked.run_id] * LOST_MAX  # BuildGrid itself would give it to five
    assert (lost.run_id, lost.cause, lost.workers) == (asked.run_id, Cause.WORKER, LOST_MAX)


@pytest.mark.parametrize("name", ["../outcome.json", "/etc/passwd", "a//b", "."])
@pytest.mark.parametrize("place", ["file", "folder"])
async def test_names_that_lead_elsewhere_are_not_taken(engine, server, name, place):
    done = Done({name: b""}) if place == "file" else Done({}, {"artifacts": {name: b""}})
    ticket = await engine.submit(await placement(engine))
    with working(server, "liar", lambda *_: done, tier="A", context_mode="1"):
        lost = await ended(engine, ticket)
    assert isinstance(lost, Lost)
    assert lost.cause is Cause.WORKER
    assert "no name of an entry" in lost.detail


async def test_a_property_that_the_server_does_not_know_is_refused(engine):
    asked = await placement(engine, properties=(("colour", "green"),))
    with pytest.raises(ClusterError, match="colour"):
        await engine.submit(asked)


async def test_orders_sent_at_once_have_an_outcome_each(engine, server):
    found = set()

    async def one() -> None:
        asked = await placement(engine)
        delivery = await ended(engine, await engine.submit(asked))
        assert await read(engine, delivery.files["artifacts/salt"]) == asked.run_id.encode()
        found.add(asked.run_id)

    with working(server, "busy", does, tier="A", context_mode="1"):
        async with trio.open_nursery() as nursery:
            for _ in range(20):
                nursery.start_soon(one)
    assert len(found) == 20


@pytest.mark.parametrize(
    ("instance", "message"), [("storage", "executes nothing"), ("none", "none")]
)
async def test_an_instance_that_can_execute_nothing_is_told_at_once(server, instance, message):
    with pytest.raises(ClusterError, match=message):
        async with open_engine(server.url.replace("/main", f"/{instance}"), server.front):
            pass


async def test_a_server_that_is_not_there_is_told(server):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(UnreachableError, match="unavailable"):
        async with open_engine(f"grpcs://127.0.0.1:{port}/main", server.front):
            pass


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("the front's authority", "Socket closed"),  # all that a server tells a stranger
        ("the server's authority", "CERTIFICATE_VERIFY_FAILED"),
    ],
)
async def test_certificates_of_another_authority_reach_nothing(server, tmp_path, wrong, words):
    other = trustme.CA()
    other.cert_pem.write_to_path(tmp_path / "ca.pem")
    certificate_files(tmp_path, "front", other.issue_cert("front.example"))
    changes = (
        {"certificate": tmp_path / "front.pem", "key": tmp_path / "front.key"}
        if wrong == "the front's authority"
        else {"ca": tmp_path / "ca.pem"}
    )
    with pytest.raises((ClusterError, UnreachableError), match=words):
        async with open_engine(server.url, replace(server.front, **changes)):
            pass
