"""ASGI: the table of pages and the files beside them, behind the gate."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import stat
import time
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from time import gmtime, strftime
from typing import Any
from urllib.parse import urlencode

import trio
from hypercorn.config import Config as Hypercorn
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from base.whole_files import replace_file
from ctxmode.config.locations import Config
from ctxmode.errors import ContextModeError, UsageError, why
from ctxmode.insight.pages import PAGES
from ctxmode.insight.reading import Page, PageQuery, Reader
from ctxmode.mcp.http.connections import Connections, listen
from ctxmode.operations.usage import DAY_S
from ctxmode.render import highlight, usage_table
from ctxmode.render.highlight import harmless
from ctxmode.render.redaction import describe_redactions, redact_answer

# Templates have no scripts and no styles of their own. Data is redacted as a whole before a
# template sees it, as answers to agents are.

NOTHING = "\N{EN DASH}"


def render_body(page: Page, reader: Reader, asked: PageQuery, *, in_file: bool = False) -> Markup:
    """Render what one page shows, and what of it could not be read. A page `in_file` has no links
    to others."""
    found = {"d": page.build(reader, asked), "problems": reader.problems}
    _, clean = redact_answer("", found)
    hidden = describe_redactions(clean["redactions"]) if "redactions" in clean else ""
    template = _environment().get_template(f"{page.name}.html")
    text = template.render(
        d=clean["d"], problems=clean["problems"], hidden=hidden, page=page, in_file=in_file
    )
    return Markup(text)  # noqa: S704 - a template's, in which everything is escaped


def render_page(page: Page, menu: Iterable[Page], body: Markup, project: str) -> str:
    """Render a whole page around its body."""
    template = _environment().get_template("layout.html")
    return template.render(page=page, menu=_list_menu(menu), body=body, project=project)


def render_file(parts: Iterable[tuple[Page, Markup]], project: str, style: str, digest: str) -> str:
    """Render one file with the bodies of many pages. `digest` is that of the style, by which the
    file's own policy knows it."""
    template = _environment().get_template("file.html")
    style = Markup(style)  # noqa: S704 - this package's own
    return template.render(
        parts=list(parts), project=project, style=style, digest=digest, at=time.time()
    )


def render_words(title: str, words: str, menu: Iterable[Page], project: str) -> str:
    """Render a page that only says something, such as that an address is of nothing."""
    template = _environment().get_template("words.html")
    body = Markup(template.render(title=title, words=words))  # noqa: S704 - as above
    return render_page(Page("", title, lambda _reader, _asked: {}), menu, body, project)


def _list_menu(pages: Iterable[Page]) -> list[Page]:
    return [page for page in pages if not page.menu]


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("ctxmode.insight"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_show,
    )
    environment.filters |= {
        "size": lambda count: NOTHING if count is None else usage_table.describe_kept(count),
        "tokens": usage_table.describe_tokens,
        "number": lambda count: NOTHING if count is None else f"{count:,}",
        "percent": lambda share: NOTHING if share is None else f"{share:.1%}",
        "seconds": _seconds,
        "when": _when,
        "day": lambda day: strftime("%Y-%m-%d", gmtime(day * DAY_S)),
        "ago": lambda at: NOTHING if at is None else f"{highlight.age(time.time() - at)} ago",
        "word": lambda text: str(text).replace("_", " "),
        "query": _query,
    }
    return environment


def _show(value: object) -> object:
    """Show no control characters, and a dash where nothing is known."""
    if value is None or value == "":
        return NOTHING if value is None else ""
    return value if isinstance(value, Markup) or not isinstance(value, str) else harmless(value)


def _seconds(seconds: float | None) -> str:
    if seconds is None:
        return NOTHING
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _when(at: float | None) -> str | Markup:
    """Write a time of UTC as an element that programs read, too."""
    if at is None:
        return NOTHING
    try:
        parts = gmtime(at)
    except (ValueError, OverflowError, OSError):
        return NOTHING
    full, short = strftime("%Y-%m-%dT%H:%M:%SZ", parts), strftime("%Y-%m-%d %H:%M", parts)
    return Markup('<time datetime="{}">{}</time>').format(full, short)


def _query(values: Mapping[str, Any]) -> str:
    return urlencode({name: str(value) for name, value in values.items()})


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


class Gate:
    """ASGI: lets in who spent the key, and answers all others itself. `on_request` is called for
    each request that was let in. The key opens it once, and is spent for the cookie."""

    def __init__(self, app: ASGIApp, host: str, on_request: Callable[[], None]) -> None:
        self._app = app
        self._host = host
        self._on_request = on_request
        self.key = secrets.token_urlsafe(32)
        self._cookie = secrets.token_urlsafe(32)
        self._is_spent = False

    @property
    def address(self) -> str:
        """Return what is printed for a person to open."""
        return f"http://{self._host}{ENTRANCE}?key={self.key}"

    @property
    def _cookie_name(self) -> str:
        """Return a name that no server on another port has: cookies are of all ports."""
        return f"insight-{self._host.rpartition(':')[2]}"

    def _spend(self, given: str) -> bool:
        """Tell whether this is the key, and was not spent before."""
        if self._is_spent or not _is_same(given, self.key):
            return False
        self._is_spent = True
        return True

    def _knows(self, cookies: str) -> bool:
        """Tell whether a header `Cookie` has ours."""
        return _is_same(cookie_parser(cookies).get(self._cookie_name, ""), self._cookie)

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
        if not self._knows(headers.get("cookie", "")):
            return _say(403, "Open the address that `doctor insight` printed, with its key.")
        return None

    def _refuse(self, method: str, headers: Headers) -> Response | None:
        if any(len(headers.getlist(name)) > 1 for name in SENT_ONCE):
            return _say(400, "A header stands there twice that may stand there once.")
        if headers.get("host", "") != self._host:
            return _say(421, f"Only http://{self._host} is served here.")
        if method not in METHODS:
            return _say(405, "This page only shows: GET and HEAD.", {"allow": ", ".join(METHODS)})
        own = f"http://{self._host}"
        if headers.get("sec-fetch-site", "none") not in SAME or headers.get("origin", own) != own:
            return _say(403, "Another page asked for this. Open the address yourself.")
        return None

    def _enter(self, scope: Scope) -> Response:
        given = QueryParams(scope["query_string"]).get("key", "")
        if scope["method"] != "GET" or not self._spend(given):
            return _say(403, "This key was used, or is none. Start `doctor insight` again.")
        answer = RedirectResponse("/", 303)
        answer.set_cookie(self._cookie_name, self._cookie, httponly=True, samesite="strict")
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
        asked = PageQuery(QueryParams(scope["query_string"]))
        html = await trio.to_thread.run_sync(
            partial(build_page, self._config, page, asked),
            limiter=self._building,
            abandon_on_cancel=True,
        )
        return HTMLResponse(html)


def build_page(config: Config, page: Page, asked: PageQuery) -> str:
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
        (page, render_body(page, Reader(config), PageQuery(), in_file=True))
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
    host = f"{HOST}:{listener.getsockname()[1]}"
    with trio.CancelScope() as scope:

        def postpone() -> None:
            scope.deadline = trio.current_time() + idle_s

        postpone()
        gate = Gate(Site(config), host, postpone)
        announce(gate.address)
        await Connections(gate, Hypercorn(), CONNECTIONS_MAX).serve(listener)
