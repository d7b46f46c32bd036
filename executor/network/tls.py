"""A client's first bytes: the name in a TLS ClientHello, or one request of plain HTTP."""

from __future__ import annotations

from collections.abc import Iterator

import h11
import trio

# A server that reads on after the checked request could be asked another one there, of another of
# its hosts. So could one that finds the request's end elsewhere.

CHUNK_BYTES = 64 * 1024
# What is between two neighbours, and what would lead away from HTTP/1.1.
DROPPED = frozenset(
    (
        *(b"proxy-connection", b"proxy-authorization", b"connection", b"keep-alive"),
        *(b"upgrade", b"http2-settings"),
    )
)


class Exchange:
    """A request whose head the client's `connection` has just given."""

    def __init__(
        self, client: trio.SocketStream, connection: h11.Connection, request: h11.Request
    ) -> None:
        self._client = client
        self._theirs = connection
        self._request = request
        self._ours = h11.Connection(h11.CLIENT)
        self._is_over = False

    def head(self, target: bytes) -> bytes:
        """Return the request's head, for a connection that serves only this request."""
        headers = [(name, value) for name, value in self._request.headers if name not in DROPPED]
        if any(name == b"transfer-encoding" for name, _ in headers):  # RFC 9112, section 6.1
            headers = [(name, value) for name, value in headers if name != b"content-length"]
        headers.append((b"connection", b"close"))
        request = h11.Request(method=self._request.method, target=target, headers=headers)
        return bytes(self._ours.send(request) or b"")

    async def receive(self) -> bytes:
        """Return the next bytes of the body; empty when the client has closed.

        Raises:
            trio.BrokenResourceError: the client has gone.
        """
        while not self._is_over:
            try:
                event = self._theirs.next_event()
            except h11.RemoteProtocolError:
                return b""  # the server sees that it was cut off
            if event is h11.NEED_DATA:
                self._theirs.receive_data(await self._client.receive_some(CHUNK_BYTES))
                continue
            self._is_over = not isinstance(event, h11.Data)
            if isinstance(event, (h11.Data, h11.EndOfMessage)) and (out := self._ours.send(event)):
                return bytes(out)
        while await self._client.receive_some(CHUNK_BYTES):
            pass
        return b""


RECORD_HEADER_BYTES = 5
RECORD_BYTES_MAX = 16_384
HANDSHAKE, CLIENT_HELLO, SERVER_NAME, HOST_NAME = 22, 1, 0, 0


class _FieldReader:
    """A reader of length-prefixed fields; reading past the end raises ValueError."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, size: int) -> bytes:
        part = self._data[self._at : self._at + size]
        if len(part) != size:
            raise ValueError("the ClientHello is cut short")
        self._at += size
        return part

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def field(self, length_size: int) -> bytes:
        return self.take(self.number(length_size))

    @property
    def rest(self) -> bool:
        return self._at < len(self._data)


def record_length(header: bytes) -> int | None:
    """Return the bytes that follow a record header; None if this is not a TLS handshake."""
    if len(header) < RECORD_HEADER_BYTES or header[0] != HANDSHAKE or header[1] != 3:
        return None
    length = int.from_bytes(header[3:5], "big")
    return length if 0 < length <= RECORD_BYTES_MAX else None


def server_name(record: bytes) -> str | None:
    """Return the server name in the first record's ClientHello; None if it names none.

    Raises:
        ValueError: the record holds no whole, well-formed ClientHello.
    """
    reader = _FieldReader(record)
    if reader.number(1) != CLIENT_HELLO:
        raise ValueError("the first handshake message is not a ClientHello")
    hello = _FieldReader(reader.field(3))
    hello.take(2 + 32)  # version, random
    hello.field(1)  # session id
    hello.field(2)  # cipher suites
    hello.field(1)  # compression methods
    if not hello.rest:
        return None
    extensions = _FieldReader(hello.field(2))
    found: list[str] = []
    while extensions.rest:
        kind = extensions.number(2)
        body = extensions.field(2)
        if kind == SERVER_NAME:
            found += _names(_FieldReader(_FieldReader(body).field(2)))
    if len(found) > 1:  # which one counts would be up to the server
        raise ValueError("the ClientHello names more than one server")
    return found[0] if found else None


def _names(names: _FieldReader) -> Iterator[str]:
    while names.rest:
        if names.number(1) != HOST_NAME:
            raise ValueError("the server name is of an unknown type")
        yield names.field(2).decode("ascii")
