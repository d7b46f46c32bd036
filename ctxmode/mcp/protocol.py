"""The Model Context Protocol: revisions, error codes, names, capabilities, messages.

Source: modelcontextprotocol.io/specification, revisions 2024-11-05 to 2026-07-28. Loaded before the
first answer of a server, so it imports nothing.
"""

from __future__ import annotations

import json
import os
import select
from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

import trio

from base.secrets import redact
from ctxmode import __version__

HANDSHAKE_REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""The revisions in which a client begins with `initialize`."""

STATELESS_REVISIONS = ("2026-07-28",)
"""The revisions in which each request names its revision and the client's capabilities."""

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
RESOURCE_NOT_FOUND = -32002  # used in revisions before 2026-07-28, which has INVALID_PARAMS instead
UNSUPPORTED_REVISION = -32022

_PREFIX = "io.modelcontextprotocol/"
REVISION_KEY = f"{_PREFIX}protocolVersion"
CLIENT_KEY = f"{_PREFIX}clientInfo"
CAPABILITIES_KEY = f"{_PREFIX}clientCapabilities"
SERVER_KEY = f"{_PREFIX}serverInfo"
LOG_LEVEL_KEY = f"{_PREFIX}logLevel"

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""Levels of log messages, in the order of RFC 5424, most verbose first."""

INSTRUCTIONS = """\
Run code where the data is and return only the answer: ctx_execute for anything that may print \
much, ctx_search for stored output."""

SERVER = {"name": "context-mode", "version": __version__}
CAPABILITIES: Mapping[str, Any] = {
    "logging": {},
    "prompts": {"listChanged": False},
    "resources": {"listChanged": False, "subscribe": False},
    "tools": {"listChanged": False},
}
CACHED_METHODS = frozenset(
    (
        "server/discover",
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "resources/read",
    )
)
"""Methods whose results have a cache lifetime, from revision 2026-07-28 on."""


class ProtocolError(Exception):
    """A request is answered with a protocol error instead of a result."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = redact(message)[0]
        self.data = data


class Envelope(NamedTuple):
    """The client's description in `initialize`, or from 2026-07-28 on in each request."""

    revision: str
    client: str  # its name; empty if it has none
    capabilities: Mapping[str, Any]


def read_envelope(params: Mapping[str, Any]) -> Envelope | None:
    """Read the client's description in a request of a stateless revision; None for other requests.
    Raise ProtocolError if a key is missing or malformed, or the revision is not served."""
    meta = params.get("_meta")
    if not isinstance(meta, Mapping) or REVISION_KEY not in meta:
        return None
    revision, capabilities = meta[REVISION_KEY], meta.get(CAPABILITIES_KEY)
    if not isinstance(revision, str):
        raise ProtocolError(INVALID_PARAMS, f"params._meta: {REVISION_KEY} must be a string")
    if not isinstance(capabilities, Mapping):
        raise ProtocolError(
            INVALID_PARAMS, f"params._meta: {CAPABILITIES_KEY} is required and must be an object"
        )
    if revision not in STATELESS_REVISIONS:
        supported = {"supported": list(STATELESS_REVISIONS), "requested": revision}
        raise ProtocolError(UNSUPPORTED_REVISION, "Unsupported protocol version", supported)
    return Envelope(revision, _name(meta.get(CLIENT_KEY)), capabilities)


def read_handshake(params: Mapping[str, Any]) -> Envelope:
    """Read the client's description in `initialize`, with the negotiated revision: the requested
    one, or the latest. Raise ProtocolError if a field is missing or malformed."""
    asked, capabilities = params.get("protocolVersion"), params.get("capabilities")
    client = params.get("clientInfo")
    if (
        not isinstance(asked, str)
        or not isinstance(capabilities, Mapping)
        or not isinstance(client, Mapping)
    ):
        raise ProtocolError(
            INVALID_PARAMS,
            "initialize needs protocolVersion (a string), capabilities and clientInfo (objects)",
        )
    revision = asked if asked in HANDSHAKE_REVISIONS else HANDSHAKE_REVISIONS[-1]
    return Envelope(revision, _name(client), capabilities)


def _name(client: object) -> str:
    name = client.get("name") if isinstance(client, Mapping) else None
    return name if isinstance(name, str) else ""


def describe_server(revision: str) -> dict[str, Any]:
    """Build the answer to `initialize`."""
    return {
        "protocolVersion": revision,
        "capabilities": CAPABILITIES,
        "serverInfo": SERVER,
        "instructions": INSTRUCTIONS,
    }


def discover() -> dict[str, Any]:
    """Build the answer to `server/discover`."""
    return {
        "supportedVersions": list(STATELESS_REVISIONS),
        "capabilities": CAPABILITIES,
        "instructions": INSTRUCTIONS,
    }


def complete(result: Mapping[str, Any], method: str, revision: str) -> Mapping[str, Any]:
    """Add to a result the fields that its revision requires for the method."""
    if revision not in STATELESS_REVISIONS:
        return result
    cached = {"ttlMs": 0, "cacheScope": "private"} if method in CACHED_METHODS else {}
    return {"resultType": "complete", **cached, **result, "_meta": {SERVER_KEY: SERVER}}


# Passing a line to a thread takes longer than reading it, and other tasks run in between. A thread
# that waits in a read cannot be stopped. Instead, a ready descriptor is read or written once, which
# does not block. Its flags stay: non-blocking would break a shell that shares the terminal.

READ_BYTES = 256 * 1024
WRITE_BYTES = select.PIPE_BUF
"""The bytes that a ready pipe accepts at once (pipe(7)); a larger write may block."""


class LineReader:
    """The lines of a descriptor that has no other reader."""

    def __init__(self, fd: int, bytes_max: int) -> None:
        self._fd = fd
        self._bytes_max = bytes_max
        self._held = bytearray()

    @property
    def is_empty(self) -> bool:
        """Return whether it holds no part of a line."""
        return not self._held

    async def line(self) -> bytes:
        """Read the next line with its end, which the last line may lack; empty at the end of the
        file. A longer line is cut after `bytes_max` + 1 bytes."""
        cut = b""
        searched = 0
        while not (end := self._held.find(b"\n", searched) + 1):
            if len(self._held) > self._bytes_max:
                cut = cut or bytes(self._held[: self._bytes_max + 1])
                self._held.clear()
            searched = len(self._held)
            if _is_ready(self._fd, select.POLLIN):
                await trio.lowlevel.checkpoint()
            else:
                await trio.lowlevel.wait_readable(self._fd)
            self._held += (chunk := os.read(self._fd, READ_BYTES))
            if not chunk:
                end = searched
                break
        line = cut or bytes(self._held[: min(end, self._bytes_max + 1)])
        del self._held[:end]
        return line


async def write(fd: int, data: bytes) -> None:
    """Write all data; raise OSError if the reader is gone."""
    left = memoryview(data)
    while left:
        if not _is_ready(fd, select.POLLOUT):
            await trio.lowlevel.wait_writable(fd)
        left = left[os.write(fd, left[:WRITE_BYTES]) :]


def _is_ready(fd: int, event: int) -> bool:
    """Return whether reading or writing would not block; files and the null device are always
    ready."""
    poll = select.poll()
    poll.register(fd, event)
    return bool(poll.poll(0))


# Room for a 10 MB program with every byte escaped as \u00XX, so that the
# check of programs, which knows the limit, refuses one that is too large.
LINE_BYTES_MAX = 80 * 1024 * 1024

Id = str | int


class Request(NamedTuple):
    """A request, answered under its ID; a notification has no ID and gets no answer."""

    id: Id | None
    method: str
    params: Mapping[str, Any]


class Response(NamedTuple):
    """The answer to our request: a result, or an error."""

    id: Id
    result: Mapping[str, Any] | None
    error: Mapping[str, Any] | None


class MalformedError(ProtocolError):
    """A line is not a message. `id` is its request's, if that is valid."""

    def __init__(self, code: int, message: str, id: Id | None = None) -> None:  # noqa: A002 - the protocol's word
        super().__init__(code, message)
        self.id = id


def parse(line: bytes) -> Request | Response:
    """Read one line. Raise MalformedError if it is not a message."""
    if len(line) > LINE_BYTES_MAX:
        raise MalformedError(INVALID_REQUEST, f"the message has more than {LINE_BYTES_MAX:,} bytes")
    try:
        data = json.loads(line.decode("utf-8"), parse_constant=_refuse_constant)
    except UnicodeDecodeError:
        raise MalformedError(PARSE_ERROR, "the message is not UTF-8: send UTF-8 JSON") from None
    except (ValueError, RecursionError):
        problem = "the message is not JSON: send one object on one line"
        raise MalformedError(PARSE_ERROR, problem) from None
    if isinstance(data, list):
        raise MalformedError(INVALID_REQUEST, "batches are not served: send one object a line")
    given = data.get("id") if isinstance(data, dict) else None
    own_id = given if isinstance(given, str | int) and not isinstance(given, bool) else None
    message = _read_message(data, own_id) if isinstance(data, dict) else None
    if message is None or (b"\\u" in line and not _is_unicode(data)):
        wanted = 'jsonrpc "2.0", a method, and text of valid Unicode (no lone surrogates)'
        problem = f"not a JSON-RPC 2.0 message: it needs {wanted}"
        raise MalformedError(INVALID_REQUEST, problem, own_id)
    return message


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _read_message(data: Mapping[str, Any], own_id: Id | None) -> Request | Response | None:
    if data.get("jsonrpc") != "2.0":
        return None
    if "method" in data:
        method, params = data["method"], data.get("params", {})
        if not isinstance(method, str) or not isinstance(params, dict):
            return None
        if "id" not in data:
            return Request(None, method, params)
        return None if own_id is None else Request(own_id, method, params)
    result, error = data.get("result"), data.get("error")
    if own_id is None or isinstance(result, dict) is isinstance(error, dict):
        return None
    return Response(own_id, result, error)


def _is_unicode(data: object) -> bool:
    """Return whether all text can be encoded; an escape can be a lone surrogate."""
    try:
        json.dumps(data, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def pack(message: Mapping[str, Any]) -> bytes:
    """Write a message as one line of JSON with its end, also with names that are not UTF-8."""
    try:
        text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8") + b"\n"
    except UnicodeEncodeError:  # the name of a file that is not UTF-8
        return json.dumps(message).encode() + b"\n"


def pack_error(id: Id | None, error: ProtocolError) -> bytes:  # noqa: A002 - the protocol's word
    """Write the answer that refuses a request."""
    data = {} if error.data is None else {"data": error.data}
    problem = {"code": error.code, "message": error.message} | data
    return pack({"jsonrpc": "2.0", "id": id, "error": problem})
