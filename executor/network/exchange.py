"""One plain HTTP request as an origin server gets it: framed anew, with nothing behind it.

A server that reads on after the checked request could be asked another one there, of another of its
hosts. So could one that finds the request's end elsewhere.
"""

from __future__ import annotations

import h11
import trio

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
        """Its head, for a connection that serves this one request."""
        headers = [(name, value) for name, value in self._request.headers if name not in DROPPED]
        if any(name == b"transfer-encoding" for name, _ in headers):  # RFC 9112, section 6.1
            headers = [(name, value) for name, value in headers if name != b"content-length"]
        headers.append((b"connection", b"close"))
        request = h11.Request(method=self._request.method, target=target, headers=headers)
        return bytes(self._ours.send(request) or b"")

    async def receive(self) -> bytes:
        """The next bytes of its body; none when the client has closed.

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
