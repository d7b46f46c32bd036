"""An HTTP proxy outside the cell, on a socket that listens inside it.

The listening socket is made in the cell's network namespace and passed to the server. Hence the
cell holds no path of the host's file system and no process of the server. Names are checked as the
client wrote them, addresses after resolution, and only a checked address is dialled.
"""

from __future__ import annotations

import contextlib
import errno
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import h11
import trio

from base.addresses import is_public_address, is_site_address
from executor.model import Connection
from executor.network import tls
from executor.network.allowlist import Allowlist
from executor.network.tls import CHUNK_BYTES, Exchange

HEAD_S_MAX = 10.0
CONNECT_S_MAX = 10.0
IDLE_S_MAX = 60.0
RETRY_S = 0.1
CONNECTIONS_MAX = 64  # at once, of one run
OUT_OF_DESCRIPTORS = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))
REPORTED_MAX = 100

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
Receive = Callable[[], Awaitable[bytes | bytearray]]


async def resolve(host: str, port: int) -> Sequence[str]:
    """Return the host's addresses, from the system's resolver.

    Raises:
        OSError: the name does not resolve.
    """
    found = await trio.socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


@dataclass(slots=True)
class ProxyGate:
    """The allowlist, the resolver, and a bounded record of attempted connections."""

    allowlist: Allowlist
    resolver: Resolve = resolve
    address_allowed: Callable[[str], bool] = is_public_address
    connections: list[Connection] = field(default_factory=list)

    def allows(self, address: str, host: str, port: int) -> bool:
        """Return whether an address that a host resolves to may be connected to."""
        if self.address_allowed(address):
            return True
        return self.allowlist.may_be_private(host, port) and is_site_address(address)

    def record(self, connection: Connection) -> None:
        if connection not in self.connections and len(self.connections) < REPORTED_MAX:
            self.connections.append(connection)


class RefusedConnectionError(Exception):
    """A refused connection; `status` is the HTTP answer."""

    def __init__(self, host: str, port: int, reason: str, status: int = 403) -> None:
        super().__init__(reason)
        self.host, self.port, self.reason, self.status = host, port, reason, status


async def serve(listener: trio.socket.SocketType, gate: ProxyGate) -> None:
    """Answer the cell's requests until cancelled, then close the listener."""
    await _each(listener, partial(_answer, gate=gate))


async def forward(listener: trio.socket.SocketType, port: int, gate: ProxyGate) -> None:
    """Connect a port of the cell's loopback with the same port of the host's, until cancelled."""

    async def one(client: trio.SocketStream) -> None:
        async with client:
            try:
                with trio.fail_after(CONNECT_S_MAX):
                    server = await trio.open_tcp_stream("127.0.0.1", port)
            except (OSError, trio.TooSlowError) as error:
                gate.record(Connection("localhost", port, True, str(error) or "no answer in time"))
                return
            gate.record(Connection("localhost", port, True))
            async with server:
                await _tunnel(client, server)

    await _each(listener, one)


async def _each(
    listener: trio.socket.SocketType, serve_one: Callable[[trio.SocketStream], Awaitable[None]]
) -> None:
    """Serve up to `CONNECTIONS_MAX` clients at once; others wait in the kernel at no cost."""
    slots = trio.Semaphore(CONNECTIONS_MAX)

    async def one(client: trio.SocketStream) -> None:
        try:
            await serve_one(client)
        finally:
            slots.release()

    accepting = trio.SocketListener(listener)
    with listener:
        async with trio.open_nursery() as nursery:
            while True:
                await slots.acquire()
                client = await _accept(accepting)
                nursery.start_soon(one, client)


async def _accept(listener: trio.SocketListener) -> trio.SocketStream:
    while True:
        try:
            return await listener.accept()
        except OSError as error:
            if error.errno not in OUT_OF_DESCRIPTORS:
                raise
            await trio.sleep(RETRY_S)


async def _answer(client: trio.SocketStream, gate: ProxyGate) -> None:
    async with client:
        with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            try:
                await _pass_on(client, gate)
            except RefusedConnectionError as refused:
                allowed = refused.status >= 500
                gate.record(Connection(refused.host, refused.port, allowed, refused.reason))
                text = f"context-mode: {refused.host}:{refused.port}: {refused.reason}\n".encode()
                head = (
                    f"HTTP/1.1 {refused.status} Refused\r\nContent-Type: text/plain\r\n"
                    f"Content-Length: {len(text)}\r\nConnection: close\r\n\r\n"
                )
                await client.send_all(head.encode() + text)


async def _pass_on(client: trio.SocketStream, gate: ProxyGate) -> None:
    """Serve one request: a tunnel, or a plain HTTP exchange after which the connection closes."""
    connection = h11.Connection(h11.SERVER)
    with trio.move_on_after(HEAD_S_MAX) as deadline:
        request = await _read_head(client, connection)
    if deadline.cancelled_caught or request is None:
        return
    if request.method == b"CONNECT":
        early = connection.trailing_data[0]
        host, port = _split(request.target, default_port=None)
        async with await _dial(host, port, gate) as server:
            await client.send_all(b"HTTP/1.1 200 Connected\r\n\r\n")
            await server.send_all(await _check_hello(client, early, host, port))
            gate.record(Connection(host, port, True))
            await _tunnel(client, server)
        return
    host, port, target = _plain_target(request)
    async with await _dial(host, port, gate) as server:
        gate.record(Connection(host, port, True))
        exchange = Exchange(client, connection, request)
        await server.send_all(exchange.head(target))
        await _tunnel(client, server, exchange.receive)


async def _read_head(client: trio.SocketStream, connection: h11.Connection) -> h11.Request | None:
    try:
        while True:
            event = connection.next_event()
            if isinstance(event, h11.Request):
                return event
            if event is not h11.NEED_DATA:
                return None
            connection.receive_data(await client.receive_some(CHUNK_BYTES))
    except h11.RemoteProtocolError as error:
        raise RefusedConnectionError("?", 0, f"not an HTTP request: {error}", 400) from error


def _split(target: bytes, default_port: int | None) -> tuple[str, int]:
    """Split `host:port`; refuse anything else."""
    text = target.decode("latin-1")
    host, colon, port = text.rpartition(":")
    if not colon and default_port is not None:
        return text, default_port
    if not colon or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65_536:
        raise RefusedConnectionError(text[:100], 0, "not a host and a port", 400)
    return host, int(port)


def _plain_target(request: h11.Request) -> tuple[str, int, bytes]:
    """Split `http://host[:port]/path`; the Host header must name the same host."""
    scheme, _, rest = request.target.partition(b"://")
    authority, slash, path = rest.partition(b"/")
    if scheme != b"http":
        raise RefusedConnectionError(
            request.target.decode("latin-1")[:100], 0, "not an http:// URL", 400
        )
    host, port = _split(authority, default_port=80)
    named = [value for name, value in request.headers if name == b"host"]
    if named != [authority]:
        raise RefusedConnectionError(host[:100], port, "the Host header names another host")
    return host, port, slash + path or b"/"


async def _dial(host: str, port: int, gate: ProxyGate) -> trio.SocketStream:
    """Connect to an address of the name. All its addresses must be public.

    Raises:
        RefusedConnectionError: the name or an address is not allowed, or does not answer.
    """
    if reason := gate.allowlist.refuses(host, port):
        raise RefusedConnectionError(host[:253], port, reason)
    try:
        with trio.fail_after(CONNECT_S_MAX):
            addresses = await gate.resolver(host, port)
            private = [address for address in addresses if not gate.allows(address, host, port)]
            if private or not addresses:
                what = f"resolves to {private[0]}, which is not public" if private else "no address"
                raise RefusedConnectionError(host, port, what)
            # By address: a second resolution could give another answer than the checked one.
            return await trio.open_tcp_stream(addresses[0], port)
    except trio.TooSlowError as error:
        raise RefusedConnectionError(host, port, "no answer in time", 504) from error
    except OSError as error:
        raise RefusedConnectionError(host, port, f"cannot be reached: {error}", 502) from error


async def _check_hello(client: trio.SocketStream, early: bytes, host: str, port: int) -> bytes:
    """Check that the first TLS record names the tunnel's server, and return the data read so far.

    One address may serve many names. Without this check, a tunnel to an allowed name could reach
    any other name of the same provider.
    """
    data = bytearray(early)
    with trio.move_on_after(HEAD_S_MAX):
        await _fill(client, data, tls.RECORD_HEADER_BYTES)
        length = tls.record_length(bytes(data))
        if length is None:
            raise RefusedConnectionError(host, port, "only TLS passes through a tunnel")
        await _fill(client, data, tls.RECORD_HEADER_BYTES + length)
        record = bytes(data[tls.RECORD_HEADER_BYTES : tls.RECORD_HEADER_BYTES + length])
        try:
            name = tls.server_name(record)
        except ValueError as error:
            raise RefusedConnectionError(host, port, str(error)) from error
        if name != host:
            raise RefusedConnectionError(
                host, port, f"TLS asks for {name or 'no name'}, not for this host"
            )
        return bytes(data)
    raise RefusedConnectionError(host, port, "no TLS handshake in time", 504)


async def _fill(client: trio.SocketStream, data: bytearray, size: int) -> None:
    while len(data) < size:
        chunk = await client.receive_some(CHUNK_BYTES)
        if not chunk:
            raise trio.BrokenResourceError
        data += chunk


async def _tunnel(
    client: trio.SocketStream, server: trio.SocketStream, receive: Receive | None = None
) -> None:
    """Move data in both directions until both have ended or are idle for too long.

    `receive` returns the data for the server, if that is not all that the client sends.
    """
    async with trio.open_nursery() as nursery:
        scope = nursery.cancel_scope
        scope.deadline = trio.current_time() + IDLE_S_MAX

        async def pump(receive: Receive, target: trio.SocketStream) -> None:
            with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
                while chunk := await receive():
                    scope.deadline = trio.current_time() + IDLE_S_MAX
                    await target.send_all(chunk)
                await target.send_eof()

        nursery.start_soon(pump, receive or partial(client.receive_some, CHUNK_BYTES), server)
        nursery.start_soon(pump, partial(server.receive_some, CHUNK_BYTES), client)
