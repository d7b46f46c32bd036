"""Lines over descriptors of every kind, whole and in order, without waiting where nothing waits."""

import fcntl
import os
import socket

import pytest
import trio
import trio.testing

from ctxmode.mcp import protocol
from ctxmode.mcp.protocol import LineReader


def pipe():
    reader, writer = os.pipe()
    return reader, writer


def sockets():
    ours, theirs = socket.socketpair()
    return ours.detach(), theirs.detach()


@pytest.fixture(params=[pipe, sockets])
def ends(request):
    """What one side reads from, and what the other writes to."""
    reader, writer = request.param()
    yield reader, writer
    for fd in (reader, writer):
        os.close(fd)


async def all_lines(fd, bytes_max=100):
    reader = LineReader(fd, bytes_max)
    found = []
    while line := await reader.line():
        found.append(line)
    return found


@pytest.mark.parametrize(
    ("sent", "found"),
    [
        (b"", []),
        (b"one\ntwo\n", [b"one\n", b"two\n"]),
        (b"\n\none", [b"\n", b"\n", b"one"]),
        (b"x" * 99 + b"\nnext\n", [b"x" * 99 + b"\n", b"next\n"]),
        (b"x" * 100 + b"\nnext\n", [b"x" * 100 + b"\n", b"next\n"]),
        (b"x" * 101 + b"\nnext\n", [b"x" * 101, b"next\n"]),
        (b"x" * 900_000 + b"\nnext\n", [b"x" * 101, b"next\n"]),
        (b"x" * 900_000, [b"x" * 101]),
    ],
)
async def test_lines_come_whole_and_longer_ones_cut(tmp_path, sent, found):
    (tmp_path / "sent").write_bytes(sent)
    fd = os.open(tmp_path / "sent", os.O_RDONLY)
    try:
        assert await all_lines(fd) == found
    finally:
        os.close(fd)


async def test_what_comes_in_pieces_is_put_together():
    reader, writer = os.pipe()
    try:
        async with trio.open_nursery() as nursery:
            found = []

            async def read():
                found.extend(await all_lines(reader))

            nursery.start_soon(read)
            for piece in (b"o", b"ne", b"\ntw", b"o\n" + b"y" * 70, b"y" * 70, b"\nend\n"):
                await trio.testing.wait_all_tasks_blocked()
                os.write(writer, piece)
            os.close(writer)
    finally:
        os.close(reader)
    assert found == [b"one\n", b"two\n", b"y" * 101, b"end\n"]


async def test_what_is_more_than_fits_is_written_as_it_is_read(ends):
    reader, writer = ends
    sent = os.urandom(3_000_000).replace(b"\n", b" ") + b"\n"
    async with trio.open_nursery() as nursery:
        nursery.start_soon(protocol.write, writer, sent)
        assert await LineReader(reader, len(sent)).line() == sent


async def test_a_peer_that_stops_reading_can_be_left(ends):
    _, writer = ends
    async with trio.open_nursery() as nursery:
        nursery.start_soon(protocol.write, writer, bytes(5_000_000))
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()


async def test_waiting_for_a_line_can_be_left(ends):
    reader, _ = ends
    async with trio.open_nursery() as nursery:
        nursery.start_soon(LineReader(reader, 100).line)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()


async def test_a_peer_that_has_left_is_told(ends):
    reader, writer = ends
    spare = os.open(os.devnull, os.O_RDONLY)
    os.dup2(spare, reader)
    os.close(spare)
    with pytest.raises(BrokenPipeError):
        await protocol.write(writer, b"line\n")


async def test_others_find_the_descriptors_as_they_were(ends):
    reader, writer = ends
    before = [fcntl.fcntl(fd, fcntl.F_GETFL) for fd in ends]
    await protocol.write(writer, b"line\n")
    assert await LineReader(reader, 100).line() == b"line\n"
    assert [fcntl.fcntl(fd, fcntl.F_GETFL) for fd in ends] == before
