"""The Model Context Protocol in numbers and words: revisions, error codes, names, what is offered.

Source: modelcontextprotocol.io/specification, revisions 2024-11-05 to 2026-07-28. Loaded before the
first answer of a server, so it imports nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

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
RESOURCE_NOT_FOUND = -32002
"""Of revisions before 2026-07-28, which says INVALID_PARAMS."""

UNSUPPORTED_REVISION = -32022

_PREFIX = "io.modelcontextprotocol/"
REVISION_KEY = f"{_PREFIX}protocolVersion"
CLIENT_KEY = f"{_PREFIX}clientInfo"
CAPABILITIES_KEY = f"{_PREFIX}clientCapabilities"
SERVER_KEY = f"{_PREFIX}serverInfo"
LOG_LEVEL_KEY = f"{_PREFIX}logLevel"

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""Of log messages, in the order of RFC 5424, the most talkative first."""

INSTRUCTIONS = """\
Run code where the data is and bring back only the answer: ctx_execute for anything that may \
print much, ctx_search for what was kept of it."""

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
"""Whose results say how long they may be kept, from revision 2026-07-28 on."""


class ProtocolError(Exception):
    """A request is answered with an error of the protocol, not with a result."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = redact(message).text
        self.data = data


class Envelope(NamedTuple):
    """What a request says of its client: at `initialize`, or from 2026-07-28 on each time."""

    revision: str
    client: str  # the name by which it calls itself; empty if it has none
    capabilities: Mapping[str, Any]


def read_envelope(params: Mapping[str, Any]) -> Envelope | None:
    """Read what a request of a stateless revision says of its client; None for other requests.

    Raises:
        ProtocolError: a key is missing or malformed, or the revision is not served.
    """
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
    """Read what `initialize` says of its client, with the revision that both sides then speak: the
    one asked for, or the latest.

    Raises:
        ProtocolError: a field is missing or malformed.
    """
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
    """Add to a result what its revision demands of every result of that method."""
    if revision not in STATELESS_REVISIONS:
        return result
    cached = {"ttlMs": 0, "cacheScope": "private"} if method in CACHED_METHODS else {}
    return {"resultType": "complete", **cached, **result, "_meta": {SERVER_KEY: SERVER}}
