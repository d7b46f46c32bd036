"""The connections over which HTTP/1.1 is spoken: so many at once, and none that waits for ever.

Hypercorn's protocol speaks it. Hypercorn's own server would speak HTTP/2 without a token, and wait
without a deadline for clients that send or take nothing.
"""

from __future__ import annotations

import contextlib
import math
import sys
from typing import Any

import h11
import trio
from hypercorn.config import Config as Hypercorn
from hypercorn.events import Closed, Event, RawData, Updated
from hypercorn.protocol.h11 import H11Protocol
from hypercorn.trio.task_group import TaskGroup
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ConnectionState
from hypercorn.utils import parse_socket_addr, wrap_app

from ctxmode import crash_report

CONNECTIONS_MAX = 512
IDLE_S_MAX = 5.0  # without the whole head of a request
SEND_S_MAX = 20.0  # for the other side to take a piece of an answer
HANDSHAKE_S_MAX = 10.0
READ_BYTES = PIECE_BYTES = 64 * 1024
NO_REQUEST = (
    b'{"error": "this is no request of HTTP/1.1 as it is served: it has one Host, one length, '
    b'header lines that are whole, and a head below 64 KiB"}'
)
GONE = (trio.BrokenResourceError, trio.ClosedResourceError, trio.BusyResourceError, OSError)

Stream = trio.SocketStream | trio.SSLStream[trio.SocketStream]


class Connections:
    """The open connections, the oldest first. `app` is ASGI."""

    def __init__(self, app: Any, settings: Hypercorn, at_once: int = CONNECTIONS_MAX) -> None:  # noqa: ANN401 - hypercorn and starlette type it differently
        self.app = wrap_app(app, 0, "asgi")
        self.settings = settings
        self.context = WorkerContext(None)
        self._at_once = at_once
        self._open: dict[_HttpConnection, None] = {}

    async def serve(self, listener: trio.SocketListener) -> None:
        """Serve until cancelled; over TLS if the settings have a certificate."""
        served: trio.abc.Listener[Any] = listener
        if tls := self.settings.create_ssl_context():
            served = trio.SSLListener(listener, tls, https_compatible=True)
        try:
            await trio.serve_listeners(self._one, [served])
        finally:
            for connection in self._open:
                connection.drop()

    async def _one(self, stream: Stream) -> None:
        connection = _HttpConnection(stream, self)
        if len(self._open) >= self._at_once:
            # An idle connection makes room; if none is idle, the new one is dropped.
            next((known for known in self._open if known.is_idle), connection).drop()
        self._open[connection] = None
        try:
            await connection.run()
        except Exception as error:
            sys.stderr.write(crash_report.report(error))  # one connection's defect ends no other
        finally:
            del self._open[connection]
            connection.drop()


class _Http1(H11Protocol):
    """HTTP/1.1 alone: a client that asks to go on in HTTP/2 is answered in HTTP/1.1 (RFC 9110,
    section 7.8)."""

    async def _check_protocol(self, event: h11.Request) -> None:
        pass

    async def _send_error_response(self, status_code: int) -> None:
        """Refuse in words what is no request at all."""
        headers: list[tuple[bytes, bytes]] = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(NO_REQUEST)),
            (b"connection", b"close"),
            *self.config.response_headers("h11"),
        ]
        await self._send_h11_event(h11.Response(status_code=status_code, headers=headers))
        await self._send_h11_event(h11.Data(data=NO_REQUEST))
        await self._send_h11_event(h11.EndOfMessage())


class _HttpConnection:
    """One connection. It `is_idle` while it waits for the head of a request."""

    def __init__(self, stream: Stream, others: Connections) -> None:
        self.is_idle = True
        self._stream = stream
        self._others = others
        self._patience = trio.CancelScope()
        self._sending = trio.Lock()
        self._protocol: H11Protocol

    @property
    def _socket(self) -> trio.socket.SocketType:
        stream = self._stream
        return (stream.transport_stream if isinstance(stream, trio.SSLStream) else stream).socket

    def drop(self) -> None:
        """Close it, whatever is under way."""
        self.is_idle = False
        self._socket.close()

    async def run(self) -> None:
        """Serve it until either side ends it, or it is silent for too long."""
        with contextlib.suppress(*GONE, trio.TooSlowError):
            if isinstance(self._stream, trio.SSLStream):
                with trio.fail_after(HANDSHAKE_S_MAX):
                    await self._stream.do_handshake()
            with self._patience:
                await self._converse()

    async def _converse(self) -> None:
        end = self._socket
        client = parse_socket_addr(end.family, end.getpeername())
        server = parse_socket_addr(end.family, end.getsockname())
        async with TaskGroup() as tasks:
            self._protocol = _Http1(
                self._others.app,
                self._others.settings,
                self._others.context,
                tasks,
                ConnectionState({}),
                isinstance(self._stream, trio.SSLStream),
                client,
                server,
                self._send,
            )
            self._wait(idle=True)
            with contextlib.suppress(*GONE):
                while data := await self._stream.receive_some(READ_BYTES):
                    await self._protocol.handle(RawData(bytes(data)))
            await self._protocol.handle(Closed())

    def _wait(self, *, idle: bool) -> None:
        self.is_idle = idle
        self._patience.deadline = trio.current_time() + IDLE_S_MAX if idle else math.inf

    async def _send(self, event: Event) -> None:
        """Send what the protocol has to say."""
        if isinstance(event, Updated):
            self._wait(idle=event.idle)
            return
        try:
            if isinstance(event, RawData):
                async with self._sending:
                    await self._send_all(event.data)
                return
            await self._stream.send_eof()
        except (*GONE, NotImplementedError):
            pass  # it has gone, or speaks TLS
        self.drop()
        await self._protocol.handle(Closed())

    async def _send_all(self, data: bytes) -> None:
        """Send in pieces, each whole: an answer that is cut off within one could not go on.
        trio.ClosedResourceError: the other side does not take it."""
        for start in range(0, len(data), PIECE_BYTES):
            deadline = trio.current_time() + SEND_S_MAX
            with trio.CancelScope(shield=True, deadline=deadline) as late:
                await self._stream.send_all(data[start : start + PIECE_BYTES])
            if late.cancelled_caught:
                raise trio.ClosedResourceError
