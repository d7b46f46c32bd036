"""HTTP/1.1 connections with a limit on their number, and with deadlines.

They use Hypercorn's protocol class. Hypercorn's own server would accept HTTP/2 without a token, and
wait without a deadline for clients that do not send or read.
"""

from __future__ import annotations

import contextlib
import logging
import math
import re
import socket
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
from ctxmode.errors import ContextModeError, UsageError, why

CONNECTIONS_MAX, PORT_MAX = 512, 65_535
IDLE_S_MAX = 5.0  # to receive the whole head of a request
SEND_S_MAX = 20.0  # for the client to read a piece of an answer
HANDSHAKE_S_MAX = 10.0
READ_BYTES = PIECE_BYTES = 64 * 1024
NO_REQUEST = (
    b'{"error": "invalid HTTP/1.1 request: it needs one Host, one length or chunks, whole lines '
    b'that end in CRLF, and a head below 64 KiB"}'
)
_HEAD_END = b"\r\n\r\n"
# Requests that h11 accepts and RFC 9112, sections 2.2 and 5.2, allows to refuse: a proxy may read
# them differently.
_BARE_OR_FOLDED = re.compile(rb"(?<!\r)\n|\r(?=[^\n])|\n[ \t]")
_FRAMING = re.compile(rb"(?i)\n(content-length|transfer-encoding):[ \t]*(.*?)[ \t]*\r")
_SIZE = rb"(\r\n)?[\da-fA-F]{1,16}(;[\t -~]*)?\r\n"
_CHUNK_START, _CHUNKS_END = re.compile(_SIZE), re.compile(_SIZE + rb"\r\n")
GONE = (trio.BrokenResourceError, trio.ClosedResourceError, trio.BusyResourceError, OSError)

Stream = trio.SocketStream | trio.SSLStream[trio.SocketStream]


def listen(host: str, port: int) -> socket.socket:
    """Listen at an address.

    Raises:
        UsageError: the port is invalid.
        ContextModeError: the address cannot be used.
    """
    if not 0 <= port <= PORT_MAX:
        raise UsageError(f"invalid port {port}", f"Give 0 to {PORT_MAX}.")
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, *_, place = found[0]
        both = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
        return socket.create_server(place, family=family, dualstack_ipv6=both)
    except OSError as error:
        raise ContextModeError(
            f"cannot listen on {host} port {port}: {why(error)}",
            "Choose another with --port or --host. Port 0 chooses a free one.",
        ) from error


class Connections:
    """The open connections, oldest first. `app` is ASGI."""

    def __init__(self, app: Any, settings: Hypercorn, at_once: int = CONNECTIONS_MAX) -> None:  # noqa: ANN401 - hypercorn and starlette type it differently
        settings.alpn_protocols = ["http/1.1"]
        settings.errorlog = logging.getLogger("hypercorn.error")
        settings.include_server_header = False
        self.app = wrap_app(app, 0, "asgi")
        self.settings = settings
        self.context = WorkerContext(None)
        self._at_once = at_once
        self._open: dict[_HttpConnection, None] = {}

    async def serve(self, listener: socket.socket) -> None:
        """Serve until cancelled; over TLS if the settings have a certificate."""
        plain = trio.SocketListener(trio.socket.from_stdlib_socket(listener))
        served: trio.abc.Listener[Any] = plain
        if tls := self.settings.create_ssl_context():
            served = trio.SSLListener(plain, tls, https_compatible=True)
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
            sys.stderr.write(
                crash_report.report(error)
            )  # a defect in one connection does not end others
        finally:
            del self._open[connection]
            connection.drop()


class _StrictConnection(h11.Connection):
    """An h11 connection that accepts only messages whose end is unambiguous to all programs (RFC
    9112, section 11.2). `next_event` raises h11.RemoteProtocolError for others."""

    def __init__(self, head_bytes_max: int) -> None:
        super().__init__(h11.SERVER, max_incomplete_event_size=head_bytes_max)
        self._framing = b""  # bytes between two pieces of a body

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        """Return the next event."""
        received = self.trailing_data[0]
        head, end, _ = received.partition(_HEAD_END)
        if self.their_state is h11.IDLE and _is_uncertain(head, end):
            raise h11.RemoteProtocolError("uncertain framing", error_status_hint=400)
        in_body = self.their_state is h11.SEND_BODY
        event = super().next_event()
        if in_body:
            taken = len(received) - len(self.trailing_data[0])
            self._check_chunks(received[:taken], event)
        return event

    def _check_chunks(self, taken: bytes, event: object) -> None:
        """Check the bytes of a body that h11 dropped: it is lenient there, too."""
        if isinstance(event, h11.Data):
            taken = taken[: len(taken) - len(event.data)]
        self._framing += taken
        if event is not h11.NEED_DATA and self._framing:
            whole = _CHUNK_START if isinstance(event, h11.Data) else _CHUNKS_END
            if not whole.fullmatch(self._framing):
                raise h11.RemoteProtocolError("uncertain chunks", error_status_hint=400)
            self._framing = b""


def _is_uncertain(head: bytes, end: bytes) -> bool:
    """Return whether the sent head of a request is ambiguous; without `end` it is incomplete."""
    if _BARE_OR_FOLDED.search(head):
        return True
    framings = _FRAMING.findall(head + end) if end else []
    if len(framings) != 1:
        return bool(framings)
    name, value = framings[0]
    if name.lower() == b"content-length":
        return not value.isdigit()
    # Before HTTP/1.1 there were no chunks (section 6.1).
    return value.lower() != b"chunked" or not head.partition(b"\r")[0].endswith(b" HTTP/1.1")


class _Http1(H11Protocol):
    """HTTP/1.1 only: a client that asks for an upgrade to HTTP/2 is answered in HTTP/1.1 (RFC 9110,
    section 7.8)."""

    def __init__(self, *args: Any) -> None:  # noqa: ANN401 - as Hypercorn's own
        super().__init__(*args)
        self.connection = _StrictConnection(self.config.h11_max_incomplete_size)
        self._is_over = False

    async def _check_protocol(self, event: h11.Request) -> None:
        pass

    async def _send_h11_event(self, event: Any) -> None:  # noqa: ANN401 - Hypercorn's has no name
        if not self._is_over:
            await super()._send_h11_event(event)

    async def _send_error_response(self, status_code: int) -> None:
        """Refuse an invalid request with a message; send nothing more from the app."""
        headers: list[tuple[bytes, bytes]] = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(NO_REQUEST)),
            (b"connection", b"close"),
            *self.config.response_headers("h11"),
        ]
        await self._send_h11_event(h11.Response(status_code=status_code, headers=headers))
        await self._send_h11_event(h11.Data(data=NO_REQUEST))
        await self._send_h11_event(h11.EndOfMessage())
        self._is_over = True


class _HttpConnection:
    """One connection. `is_idle` while it waits for the head of a request."""

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
        """Close the connection, also during a request."""
        self.is_idle = False
        self._socket.close()

    async def run(self) -> None:
        """Serve requests until either side closes the connection, or it is silent for too long."""
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
        """Send an event of the protocol."""
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
            pass  # the client is gone, or uses TLS
        self.drop()
        await self._protocol.handle(Closed())

    async def _send_all(self, data: bytes) -> None:
        """Send in pieces, each whole, because an answer that is cut off within one cannot continue.
        Raise trio.ClosedResourceError if the client does not read."""
        for start in range(0, len(data), PIECE_BYTES):
            deadline = trio.current_time() + SEND_S_MAX
            with trio.CancelScope(shield=True, deadline=deadline) as late:
                await self._stream.send_all(data[start : start + PIECE_BYTES])
            if late.cancelled_caught:
                raise trio.ClosedResourceError
