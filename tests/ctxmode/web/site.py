"""A web server on this machine that answers exactly the bytes it is told to."""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import trio

from ctxmode.web.model import Network

Handler = Callable[[trio.abc.Stream, str], Awaitable[None]]


def answer(status="200 OK", body=b"hello\n", **headers) -> bytes:
    """A whole answer; headers by their names with _ for -, one that is None is left out."""
    given = {"content_type": "text/plain; charset=utf-8", "content_length": len(body)} | headers
    lines = [f"{n.replace('_', '-')}: {v}" for n, v in given.items() if v is not None]
    head = "\r\n".join([f"HTTP/1.1 {status}", *lines, "Connection: close", "", ""])
    return head.encode() + body


def redirect(location: str, status="302 Found") -> bytes:
    return answer(status, b"", location=location)


@dataclass
class Web:
    """Paths and what they answer: bytes, or a handler. `asked` has the heads of all requests."""

    port: int = 0
    pages: dict[str, bytes | Handler] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    resolved: list[str] = field(default_factory=list)
    addresses: dict[str, list[str]] = field(default_factory=dict)

    def url(self, path: str, host: str = "site.example", scheme: str = "http") -> str:
        return f"{scheme}://{host}:{self.port}{path}"

    async def resolve(self, host: str, port: int) -> list[str]:
        """Every name is this machine, unless `addresses` says otherwise."""
        self.resolved.append(host)
        return self.addresses.get(host, ["127.0.0.1"])

    def network(self, **changes) -> Network:
        return Network(**({"resolve": self.resolve, "allow_private": True} | changes))

    async def serve(self, stream: trio.abc.Stream) -> None:
        try:
            async with stream:
                head = b""
                while b"\r\n\r\n" not in head:
                    received = await stream.receive_some(65536)
                    if not received:
                        return
                    head += received
                self.asked.append(head.decode("latin-1"))
                path = head.split(b" ")[1].decode("latin-1")
                page = self.pages.get(path, answer("404 Not Found"))
                if callable(page):
                    await page(stream, head.decode("latin-1"))
                else:
                    await stream.send_all(page)
        except (trio.BrokenResourceError, trio.ClosedResourceError, ssl.SSLError):
            pass  # the client has seen enough


@asynccontextmanager
async def serving(pages, tls: ssl.SSLContext | None = None):
    """Answer requests on a free port of this machine until the block ends."""
    web = Web(pages=dict(pages))

    async def serve(stream):
        if tls is not None:
            stream = trio.SSLStream(stream, tls, server_side=True, https_compatible=True)
            try:
                await stream.do_handshake()
            except (trio.BrokenResourceError, ssl.SSLError):
                return
        await web.serve(stream)

    async with trio.open_nursery() as nursery:
        (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
        web.port = listener.socket.getsockname()[1]
        nursery.start_soon(trio.serve_listeners, serve, [listener])
        yield web
        nursery.cancel_scope.cancel()
