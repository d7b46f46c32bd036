"""The server name in a TLS ClientHello (RFC 8446 section 4.1.2, RFC 6066 section 3)."""

from __future__ import annotations

from collections.abc import Iterator

RECORD_HEADER_BYTES = 5
RECORD_BYTES_MAX = 16_384
HANDSHAKE, CLIENT_HELLO, SERVER_NAME, HOST_NAME = 22, 1, 0, 0


class _FieldReader:
    """Reads length-prefixed fields; running off the end is a ValueError."""

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
    """The bytes that follow a record header; None if this is no TLS handshake."""
    if len(header) < RECORD_HEADER_BYTES or header[0] != HANDSHAKE or header[1] != 3:
        return None
    length = int.from_bytes(header[3:5], "big")
    return length if 0 < length <= RECORD_BYTES_MAX else None


def server_name(record: bytes) -> str | None:
    """The name in the first record's ClientHello; None if it names none.

    Raises:
        ValueError: the record holds no whole, well-formed ClientHello.
    """
    reader = _FieldReader(record)
    if reader.number(1) != CLIENT_HELLO:
        raise ValueError("the first handshake message is no ClientHello")
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
