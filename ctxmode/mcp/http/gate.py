"""In front of every HTTP request: Host, Origin, bearer token, and a deadline for the body.

The Streamable HTTP section of the Model Context Protocol demands both checks. An attacker's name
may resolve to the loopback address (DNS rebinding): hence Host. A browser sends requests for any
page: hence Origin.
"""

from __future__ import annotations

from dataclasses import dataclass

import trio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ctxmode.mcp.http.tokens import Tokens

BODY_S_MAX = 30.0
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
OPEN_PATHS = ("/healthz",)
# Of two such headers, this program could read one and a proxy before it the other.
SENT_ONCE = (
    *("host", "origin", "authorization", "content-type"),
    *("mcp-session-id", "mcp-protocol-version"),
)


@dataclass(frozen=True, slots=True)
class Admission:
    """Who may come in. `hosts` are names without a port, `origins` whole origins."""

    tokens: Tokens
    hosts: frozenset[str]
    origins: frozenset[str] = frozenset()

    def admits_host(self, given: str) -> bool:
        """Tell whether requests to this Host, with a port or without, are meant for this server."""
        return _without_port(given).lower() in self.hosts

    def admits_origin(self, given: str) -> bool:
        """Tell whether a page of this origin may ask: one that was named, or one of this
        machine."""
        scheme, _, rest = given.partition("://")
        local = scheme in ("http", "https") and _without_port(rest).lower() in LOOPBACK
        return given in self.origins or local


def _without_port(given: str) -> str:
    head, colon, port = given.rpartition(":")
    return head if colon and port.isdigit() else given


class Gate:
    """ASGI: lets in what `admission` admits, and answers the rest itself."""

    def __init__(self, app: ASGIApp, admission: Admission) -> None:
        self._app = app
        self._admission = admission

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            return  # websockets are not served
        headers = Headers(scope=scope)
        if refusal := self._refusal(scope, headers):
            await refusal(scope, receive, send)
            return
        await self._app(scope, _limit_time(receive), send)

    def _refusal(self, scope: Scope, headers: Headers) -> JSONResponse | None:
        # How long a body is, `connections` has made sure of.
        if twice := next((name for name in SENT_ONCE if len(headers.getlist(name)) > 1), None):
            return _refuse(400, f"the header {twice} stands there more than once: send one")
        if not self._admission.admits_host(headers.get("host", "")):
            return _refuse(421, "this Host is not served here; --allow-host NAME adds one")
        origin = headers.get("origin")
        if origin is not None and not self._admission.admits_origin(origin):
            return _refuse(403, "this Origin may not ask; --allow-origin ORIGIN adds one")
        if scope["path"] in OPEN_PATHS:
            return None
        scheme, _, token = headers.get("authorization", "").partition(" ")
        name = self._admission.tokens.name_of(token.strip()) if scheme.lower() == "bearer" else None
        if name is None:
            answer = _refuse(401, "a bearer token is required: Authorization: Bearer TOKEN")
            answer.headers["WWW-Authenticate"] = 'Bearer realm="context-mode"'
            return answer
        access = AccessToken(token="", client_id=name, scopes=[])
        scope["user"] = AuthenticatedUser(access)
        return None


def _refuse(status: int, reason: str) -> JSONResponse:
    return JSONResponse({"error": reason}, status)


def _limit_time(receive: Receive) -> Receive:
    """Wrap `receive` so that it gives up on a body that does not come within its time."""
    deadline = trio.current_time() + BODY_S_MAX
    complete = False

    async def receive_in_time() -> Message:
        nonlocal complete
        if complete:
            return await receive()
        with trio.move_on_at(deadline):
            message = await receive()
            complete = message["type"] != "http.request" or not message.get("more_body", False)
            return message
        complete = True
        return {"type": "http.disconnect"}

    return receive_in_time
