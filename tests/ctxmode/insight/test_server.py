"""The server listens on this machine alone, and ends when nobody looks."""

from urllib.parse import urlsplit

import pytest
import trio

from ctxmode.errors import ContextModeError, UsageError
from ctxmode.insight.site import serve_insight

LONG_S = 3600.0


async def ask(port, *, target, host):
    stream = await trio.open_tcp_stream("127.0.0.1", port)
    async with stream:
        request = f"GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        await stream.send_all(request.encode())
        return b"".join([part async for part in stream]).decode()


async def test_it_speaks_http_to_who_has_the_key(config):
    addresses = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve_insight, config, 0, addresses.append)
        while not addresses:
            await trio.testing.wait_all_tasks_blocked()
        parts = urlsplit(addresses[0])
        assert parts.hostname == "127.0.0.1"
        target = f"{parts.path}?{parts.query}"
        answer = await ask(parts.port, target=target, host="evil.example")
        assert answer.startswith("HTTP/1.1 421")
        answer = await ask(parts.port, target=target, host=parts.netloc)
        assert answer.startswith("HTTP/1.1 303")
        with pytest.raises(ContextModeError, match="cannot listen"):
            await serve_insight(config, parts.port, addresses.append)
        nursery.cancel_scope.cancel()


async def test_it_ends_when_nobody_has_asked_for_so_long(config, autojump_clock):
    began = trio.current_time()
    await serve_insight(config, 0, lambda _: None, idle_s=LONG_S)
    assert trio.current_time() - began == pytest.approx(LONG_S)


@pytest.mark.parametrize("port", [-1, 65_536])
async def test_a_port_that_there_is_not_is_refused(config, port):
    with pytest.raises(UsageError, match="invalid port"):
        await serve_insight(config, port, lambda _: None)
