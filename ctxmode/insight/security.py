"""In front of every request for the page: who may ask, for what, and what a browser may do with it.

The address that is printed has a key, which is spent once for a cookie. Another page of the browser
has neither the cookie (SameSite=Strict) nor the right `Sec-Fetch-Site`; a name that resolves to
this machine is not the right `Host`.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

ENTRANCE = "/enter"
METHODS = ("GET", "HEAD")
SAME = ("same-origin", "none")
SENT_ONCE = ("host", "origin", "cookie", "sec-fetch-site")
CONTENT_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    )
)
HEADERS = {
    "content-security-policy": CONTENT_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "x-frame-options": "DENY",
}


@dataclass(slots=True)
class Entrance:
    """The key of one server, which opens it once, and the cookie that it is spent for."""

    host: str
    key: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    cookie: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    is_spent: bool = False

    @property
    def address(self) -> str:
        """Return what is printed for a person to open."""
        return f"http://{self.host}{ENTRANCE}?key={self.key}"

    @property
    def cookie_name(self) -> str:
        """Return a name that no server on another port has: cookies are of all ports."""
        return f"insight-{self.host.rpartition(':')[2]}"

    def spend(self, given: str) -> bool:
        """Tell whether this is the key, and was not spent before."""
        if self.is_spent or not _is_same(given, self.key):
            return False
        self.is_spent = True
        return True

    def knows(self, cookies: str) -> bool:
        """Tell whether a header `Cookie` has ours."""
        return _is_same(cookie_parser(cookies).get(self.cookie_name, ""), self.cookie)


class Gate:
    """ASGI: lets in who spent the key, and answers all others itself. `on_request` is called for
    each request that was let in."""

    def __init__(self, app: ASGIApp, entrance: Entrance, on_request: Callable[[], None]) -> None:
        self._app = app
        self._entrance = entrance
        self._on_request = on_request

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            return  # websockets are not served

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        if answer := self._answer(scope):
            await answer(scope, receive, send_guarded)
            return
        self._on_request()
        await self._app(scope, receive, send_guarded)

    def _answer(self, scope: Scope) -> Response | None:
        """Answer what goes no further; None of a request that may."""
        headers = Headers(scope=scope)
        if refusal := self._refuse(scope["method"], headers):
            return refusal
        if scope["path"] == ENTRANCE:
            return self._enter(scope)
        if not self._entrance.knows(headers.get("cookie", "")):
            return _say(403, "Open the address that `context-mode insight` printed, with its key.")
        return None

    def _refuse(self, method: str, headers: Headers) -> Response | None:
        if any(len(headers.getlist(name)) > 1 for name in SENT_ONCE):
            return _say(400, "A header stands there twice that may stand there once.")
        if headers.get("host", "") != self._entrance.host:
            return _say(421, f"Only http://{self._entrance.host} is served here.")
        if method not in METHODS:
            return _say(405, "This page only shows: GET and HEAD.", {"allow": ", ".join(METHODS)})
        own = f"http://{self._entrance.host}"
        if headers.get("sec-fetch-site", "none") not in SAME or headers.get("origin", own) != own:
            return _say(403, "Another page asked for this. Open the address yourself.")
        return None

    def _enter(self, scope: Scope) -> Response:
        given = QueryParams(scope["query_string"]).get("key", "")
        if scope["method"] != "GET" or not self._entrance.spend(given):
            return _say(403, "This key was used, or is none. Start `context-mode insight` again.")
        answer = RedirectResponse("/", 303)
        answer.set_cookie(
            self._entrance.cookie_name, self._entrance.cookie, httponly=True, samesite="strict"
        )
        return answer


def _is_same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())


def _say(status: int, words: str, headers: dict[str, str] | None = None) -> Response:
    return PlainTextResponse(f"{words}\n", status, headers)
