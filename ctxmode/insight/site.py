"""ASGI: the table of pages and the files beside them, behind the gate."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.resources import files
from pathlib import Path

import trio
from hypercorn.config import Config as Hypercorn
from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from base.whole_files import replace_file
from ctxmode.config.locations import Config
from ctxmode.errors import ContextModeError, UsageError, why
from ctxmode.insight.model import Asked, Page
from ctxmode.insight.pages import PAGES
from ctxmode.insight.reading import Reader
from ctxmode.insight.rendering import render_body, render_file, render_page, render_words
from ctxmode.mcp.http.connections import Connections, listen

# The address that is printed has a key, which is spent once for a cookie. Another page of the
# browser has neither the cookie (SameSite=Strict) nor the right `Sec-Fetch-Site`; a name that
# resolves to this machine is not the right `Host`.

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
            return _say(403, "Open the address that `doctor insight` printed, with its key.")
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
            return _say(403, "This key was used, or is none. Start `doctor insight` again.")
        answer = RedirectResponse("/", 303)
        answer.set_cookie(
            self._entrance.cookie_name, self._entrance.cookie, httponly=True, samesite="strict"
        )
        return answer


def _is_same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())


def _say(status: int, words: str, headers: dict[str, str] | None = None) -> Response:
    return PlainTextResponse(f"{words}\n", status, headers)


AT_ONCE = 4
"""How many pages are built at once, each in a thread."""

FILES: Mapping[str, tuple[str, str]] = {
    "/static/style.css": ("style.css", "text/css"),
    "/static/charts.js": ("charts.js", "text/javascript"),
    "/static/icon.svg": ("icon.svg", "image/svg+xml"),
    "/static/uplot.js": ("uplot/uPlot.iife.min.js", "text/javascript"),
    "/static/uplot.css": ("uplot/uPlot.min.css", "text/css"),
    "/static/uplot-licence.txt": ("uplot/LICENSE", "text/plain"),
}
BY_PATH: Mapping[str, Page] = {page.path: page for page in PAGES}


class Site:
    """The pages of one project."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._building = trio.CapacityLimiter(AT_ONCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request that the gate let in."""
        answer = await self._answer(scope)
        await answer(scope, receive, send)

    async def _answer(self, scope: Scope) -> Response:
        path = scope["path"]
        if path in FILES:
            name, media_type = FILES[path]
            return Response(read_static(name), media_type=f"{media_type}; charset=utf-8")
        page = BY_PATH.get(path)
        if page is None:
            words = "Nothing is shown at this address."
            return HTMLResponse(
                render_words("Not found", words, PAGES, self._config.project.name), 404
            )
        asked = Asked(dict(QueryParams(scope["query_string"])))
        html = await trio.to_thread.run_sync(
            partial(build_page, self._config, page, asked),
            limiter=self._building,
            abandon_on_cancel=True,
        )
        return HTMLResponse(html)


def build_page(config: Config, page: Page, asked: Asked) -> str:
    """Build the whole of one page; a problem with what it reads is a part of it."""
    body = render_body(page, Reader(config), asked)
    return render_page(page, PAGES, body, config.project.name)


@cache
def read_static(name: str) -> bytes:
    """Read a file that comes with the package."""
    return (files("ctxmode.insight") / "static" / name).read_bytes()


def write_file(config: Config, path: Path) -> int:
    """Write the first part of each page into a file that its owner alone may read; return its
    size. One that is there is replaced as a whole.

    Raises:
        UsageError: what has the name is no regular file, or its folder does not exist.
        ContextModeError: it cannot be written.
    """
    _check_place(path)
    style = read_static("style.css").decode()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    parts = [
        (page, render_body(page, Reader(config), Asked(), in_file=True))
        for page in PAGES
        if page.is_in_file
    ]
    content = render_file(parts, config.project.name, style, digest).encode()
    try:
        replace_file(path, content)
    except OSError as error:
        raise ContextModeError(
            f"{path}: {why(error)}", "Give a place that can be written."
        ) from error
    return len(content)


def _check_place(path: Path) -> None:
    try:
        found = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        if not path.parent.is_dir():
            raise UsageError(f"{path.parent} is no folder", "Give a place that exists.") from None
        return
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {why(error)}", "Give another place.") from error
    if not stat.S_ISREG(found.st_mode):
        raise UsageError(f"{path} is no regular file", "Give the name of a file.")


HOST = "127.0.0.1"
IDLE_S_MAX = 30 * 60.0
CONNECTIONS_MAX = 32


async def serve_insight(
    config: Config,
    port: int,
    announce: Callable[[str], None],
    *,
    idle_s: float = IDLE_S_MAX,
) -> None:
    """Serve until cancelled, or until nobody has asked for so long. `announce` gets the address
    with its key.

    Raises:
        UsageError: there is no such port.
        ContextModeError: it cannot be listened on.
    """
    listener = listen(HOST, port)
    entrance = Entrance(f"{HOST}:{listener.getsockname()[1]}")
    with trio.CancelScope() as scope:

        def postpone() -> None:
            scope.deadline = trio.current_time() + idle_s

        postpone()
        gate = Gate(Site(config), entrance, postpone)
        announce(entrance.address)
        await Connections(gate, Hypercorn(), CONNECTIONS_MAX).serve(listener)
