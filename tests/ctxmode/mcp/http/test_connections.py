"""Connections to the HTTP server: bounded in number, with a deadline for every wait."""

from __future__ import annotations

import contextlib
import re
import socket
import ssl
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio
from hypercorn.config import Config

from ctxmode.mcp.http import connections
from ctxmode.mcp.http.connections import Connections

DEADLINE_S = 60
SHORT_S = 1.0  # yet enough for a whole head, on a busy machine
LARGE = 64 * 1024 * 1024
READ_BYTES = 1024 * 1024
GET = b"GET /%s HTTP/1.1\r\nHost: localhost\r\n"
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS = b"\0\0\0\4\0\0\0\0\0"
UPGRADE = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"


async def app(scope, receive, send):
    """Answers when it has the body, with little, with much, or with no end."""
    more = scope["path"] != "/endless"
    while more and (message := await receive())["type"] == "http.request":
        more = message["more_body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    body = bytes(LARGE) if scope["path"] == "/large" else b"fine"
    endless = scope["path"] == "/endless"
    await send({"type": "http.response.body", "body": body, "more_body": endless})
    while endless and (await receive())["type"] != "http.disconnect":
        pass


@asynccontextmanager
async def served(
    settings: Config | None = None, at_once: int = 100, opened: list[Connections] | None = None
) -> AsyncIterator[tuple[str, int]]:
    listener = socket.create_server(("127.0.0.1", 0))
    place = listener.getsockname()
    made = Connections(app, settings or Config(), at_once)
    if opened is not None:
        opened.append(made)
    with trio.fail_after(DEADLINE_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(made.serve, listener)
            yield place
            nursery.cancel_scope.cancel()


async def opened(place: tuple[str, int], *said: bytes) -> trio.SocketStream:
    stream = await trio.open_tcp_stream(*place)
    try:
        for piece in said:
            await stream.send_all(piece)
    except BaseException:
        await stream.aclose()
        raise
    return stream


async def all_of(stream: trio.abc.Stream, until: bytes = b"\0never\0") -> bytes:
    """What comes until then, or until the server closes."""
    got = bytearray()
    with contextlib.suppress(trio.BrokenResourceError):  # it did so while we were still sending
        while until not in got[-len(until) - READ_BYTES :] and (
            chunk := await stream.receive_some(READ_BYTES)
        ):
            got += chunk
    return bytes(got)


async def is_answered(place: tuple[str, int]) -> bool:
    try:
        stream = await opened(place, GET % b"", b"Connection: close\r\n\r\n")
    except trio.BrokenResourceError:
        return False
    async with stream:
        return b"fine" in await all_of(stream)


async def drip(stream: trio.SocketStream) -> None:
    with contextlib.suppress(trio.BrokenResourceError):
        while True:
            await stream.send_all(b"a")
            await trio.sleep(0.05)


HALF_OPEN = {
    "nothing": (),
    "half a line": (b"POS",),
    "half a head": (GET % b"", b"X-Slow: "),
    "kept alive": (GET % b"", b"\r\n"),
}


@pytest.mark.parametrize("said", HALF_OPEN.values(), ids=HALF_OPEN)
async def test_who_asks_for_nothing_is_sent_away(said, monkeypatch):
    monkeypatch.setattr(connections, "IDLE_S_MAX", SHORT_S)
    async with served() as place, await opened(place, *said) as stream:
        answer = await all_of(stream)
    assert (b"fine" in answer) is (said == HALF_OPEN["kept alive"])


async def test_drops_do_not_earn_a_head_more_time(monkeypatch):
    monkeypatch.setattr(connections, "IDLE_S_MAX", SHORT_S)
    async with (
        served() as place,
        await opened(place, GET % b"", b"X-Slow: ") as stream,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(drip, stream)
        assert await all_of(stream) == b""
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("said", [(PREFACE, SETTINGS), (PREFACE,)])
async def test_nobody_speaks_http_2_and_stays(said, monkeypatch):
    monkeypatch.setattr(connections, "IDLE_S_MAX", SHORT_S)
    async with served() as place, await opened(place, *said) as stream:
        answer = await all_of(stream)
    assert answer.startswith(b"HTTP/1.1 ")


async def test_who_would_rather_go_on_in_http_2_is_answered_in_http_1():
    async with served() as place, await opened(place, GET % b"", UPGRADE, b"\r\n") as stream:
        answer = await all_of(stream, b"fine")
    assert answer.startswith(b"HTTP/1.1 200")


async def test_who_takes_no_answer_is_left(monkeypatch):
    """The control: who does take it gets it whole, over more than the time for a piece."""
    monkeypatch.setattr(connections, "SEND_S_MAX", 2)
    made: list[Connections] = []
    async with served(opened=made) as place:
        async with await opened(place, GET % b"large", b"\r\n"):
            async with await opened(place, GET % b"large", b"Connection: close\r\n\r\n") as well:
                assert len(await all_of(well)) > LARGE
            while made[0]._open:  # noqa: ASYNC110 - nobody tells
                await trio.sleep(0.01)
        assert await is_answered(place)


async def test_the_silent_make_room_for_who_comes():
    async with served(at_once=4) as place:
        silent = [await opened(place) for _ in range(20)]
        assert await is_answered(place)
        for stream in silent:
            await stream.aclose()


async def test_who_is_being_answered_is_not_sent_away():
    async with served(at_once=2) as place:
        busy = [await opened(place, GET % b"endless", b"\r\n") for _ in range(2)]
        for stream in busy:
            assert b"fine" in await all_of(stream, b"fine")
        assert not await is_answered(place)
        await busy[0].aclose()
        while not await is_answered(place):  # noqa: ASYNC110 - when the server has seen it close
            await trio.sleep(0.01)
        await busy[1].aclose()


POST = b"POST / HTTP/1.1\r\nHost: localhost\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n"
SECOND = GET % b"second" + b"Connection: close\r\n\r\n"
CERTAIN = {
    "no body": GET % b"" + b"\r\n",
    "a length": POST + b"Content-Length: 2\r\n\r\nhi",
    "chunks": CHUNKED + b"\r\n2\r\nhi\r\n1;name=x\r\n!\r\n0\r\n\r\n",
    "line feeds in a body": POST + b"Content-Length: 4\r\n\r\na\n\r\n",
    "line feeds in a chunk": CHUNKED + b"\r\n4\r\n\n\r\n0\r\n0\r\n\r\n",
}
UNCERTAIN = {
    "a length and chunks": CHUNKED + b"Content-Length: 5\r\n\r\n0\r\n\r\n",
    "chunks and a length": POST
    + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "two lengths": POST + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nhi",
    "one length twice": POST + b"Content-Length: 2\r\ncontent-length: 2\r\n\r\nhi",
    "lengths in a list": POST + b"Content-Length: 2, 2\r\n\r\nhi",
    "a signed length": POST + b"Content-Length: +2\r\n\r\nhi",
    "a blank before the colon": POST + b"Content-Length : 2\r\n\r\nhi",
    "chunks, then another coding": POST + b"Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
    "another coding, then chunks": POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "chunks twice": CHUNKED + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "quoted chunks": POST + b'Transfer-Encoding: "chunked"\r\n\r\n0\r\n\r\n',
    "chunks before HTTP/1.1": CHUNKED.replace(b"1.1", b"1.0")
    + b"Connection: keep-alive\r\n\r\n0\r\n\r\n",
    "a folded line": POST + b"X: a\r\n Content-Length: 2\r\n\r\nhi",
    "a folded length": POST + b"Content-Length:\r\n 2\r\n\r\nhi",
    "a bare line feed": POST + b"X: a\nContent-Length: 2\r\n\r\nhi",
    "an end of bare line feeds": POST + b"X: a\n\n",
    "a bare carriage return": POST + b"X: a\rContent-Length: 2\r\n\r\nhi",
    "a line feed in front": b"\n" + GET % b"" + b"\r\n",
    "a size that is not hexadecimal": CHUNKED + b"\r\n0x2\r\nhi\r\n0\r\n\r\n",
    "a negative size": CHUNKED + b"\r\n-1\r\nhi\r\n0\r\n\r\n",
    "no size": CHUNKED + b"\r\n\r\nhi\r\n0\r\n\r\n",
    "a size larger than any": CHUNKED + b"\r\n" + b"f" * 20 + b"\r\nhi\r\n0\r\n\r\n",
    "a blank after the size": CHUNKED + b"\r\n2 \r\nhi\r\n0\r\n\r\n",
    "a chunk longer than its size": CHUNKED + b"\r\n2\r\nhi!\r\n0\r\n\r\n",
    "a bare line feed after the size": CHUNKED + b"\r\n2\nhi\r\n0\r\n\r\n",
    "a bare line feed after a chunk": CHUNKED + b"\r\n2\r\nhi\n0\r\n\r\n",
    "a bare line feed in an extension": CHUNKED + b"\r\n2;a\n\r\nhi\r\n0\r\n\r\n",
    "a bare carriage return in an extension": CHUNKED + b"\r\n2;a\rb\r\nhi\r\n0\r\n\r\n",
    "a bare line feed at the end": CHUNKED + b"\r\n0\r\n\n",
    "lines after the last chunk": CHUNKED + b"\r\n0\r\nContent-Length: 2\r\n\r\n",
    "a folded line after the last chunk": CHUNKED + b"\r\n0\r\nX: a\r\n b\r\n\r\n",
}
PIECES = {"at once": 1 << 16, "byte by byte": 1}


@pytest.mark.parametrize("piece", PIECES.values(), ids=PIECES)
@pytest.mark.parametrize("said", CERTAIN.values(), ids=CERTAIN)
async def test_a_request_with_a_certain_end_is_answered_and_the_next(said, piece, monkeypatch):
    monkeypatch.setattr(connections, "READ_BYTES", piece)
    async with served() as place, await opened(place, said, SECOND) as stream:
        answer = await all_of(stream)
    assert re.findall(rb"HTTP/1\.1 (\d+)", answer) == [b"200", b"200"]


@pytest.mark.parametrize("piece", PIECES.values(), ids=PIECES)
@pytest.mark.parametrize("said", UNCERTAIN.values(), ids=UNCERTAIN)
async def test_a_request_with_an_uncertain_end_is_the_last(said, piece, monkeypatch):
    monkeypatch.setattr(connections, "READ_BYTES", piece)
    async with served() as place, await opened(place, said + SECOND) as stream:
        answer = await all_of(stream)
    assert re.findall(rb"HTTP/1\.1 (\d+)", answer) == [b"400"]
    assert b"\r\nconnection: close\r\n" in answer.lower()


async def test_a_huge_head_is_refused():
    async with served() as place, await opened(place, GET % b"", b"X: " + b"a" * 65_536) as stream:
        assert (await all_of(stream)).startswith(b"HTTP/1.1 431 ")


async def test_tls_is_spoken_in_http_1_and_its_handshake_not_waited_for(tmp_path, monkeypatch):
    key, certificate = tmp_path / "key", tmp_path / "certificate"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate),
        ],
        check=True,
        capture_output=True,
    )
    settings = Config()
    settings.certfile, settings.keyfile = str(certificate), str(key)
    settings.alpn_protocols = ["http/1.1"]
    trusting = ssl.create_default_context(cafile=certificate)
    trusting.set_alpn_protocols(["h2", "http/1.1"])
    async with served(settings) as place:
        stream = trio.SSLStream(
            await opened(place), trusting, server_hostname="localhost", https_compatible=True
        )
        await stream.send_all(GET % b"" + b"\r\n")
        assert b"fine" in await all_of(stream, b"fine")
        assert stream.selected_alpn_protocol() == "http/1.1"
        await stream.aclose()
        monkeypatch.setattr(connections, "HANDSHAKE_S_MAX", SHORT_S)
        async with await opened(place) as silent:
            assert await all_of(silent) == b""
