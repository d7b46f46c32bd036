"""The site's ASGI app: access check, pages and static files; and the site as one HTML file."""

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

from base.plain_files import replace_file
from ctxmode.config.locations import Config
from ctxmode.errors import ContextModeError, UsageError, why
from ctxmode.insight.pages import PAGES
from ctxmode.insight.reading import Page, PageQuery, Reader
from ctxmode.mcp.http.connections import Connections, listen
from ctxmode.operations.usage import DAY_S
from ctxmode.render import health, highlight
from ctxmode.render.highlight import harmless
from ctxmode.render.redaction import describe_redactions, redact_answer

# Templates have no inline scripts or styles. All data is redacted before a template gets it, like
# answers to agents.

NOTHING = "\N{EN DASH}"


def render_body(page: Page, reader: Reader, asked: PageQuery, *, in_file: bool = False) -> Markup:
    """Render the content of one page, and problems with reading it. A page `in_file` has no links
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
    """Render one file with the bodies of many pages. `digest` is the style's, for the file's
    content policy."""
    template = _environment().get_template("file.html")
    style = Markup(style)  # noqa: S704 - this package's own
    return template.render(
        parts=list(parts), project=project, style=style, digest=digest, at=time.time()
    )


def render_words(title: str, words: str, menu: Iterable[Page], project: str) -> str:
    """Render a page with only a message, such as an unknown address."""
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
        "size": lambda count: NOTHING if count is None else health.describe_kept(count),
        "tokens": health.describe_tokens,
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
    """Remove control characters; show None as a dash."""
    if value is None or value == "":
        return NOTHING if value is None else ""
    return value if isinstance(value, Markup) or not isinstance(value, str) else harmless(value)


def _seconds(seconds: float | None) -> str:
    if seconds is None:
        return NOTHING
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _when(at: float | None) -> str | Markup:
    """Write a UTC time as a machine-readable element."""
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


# The printed address has a key, which is exchanged once for a cookie. Other pages in the browser
# have neither the cookie (SameSite=Strict) nor the right `Sec-Fetch-Site`; another name that
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
    """ASGI app that admits only requests with its cookie. The key is exchanged once for the cookie.
    `on_request` is called for each admitted request."""

    def __init__(self, app: ASGIApp, host: str, on_request: Callable[[], None]) -> None:
        self._app = app
        self._host = host
        self._on_request = on_request
        self.key = secrets.token_urlsafe(32)
        self._cookie = secrets.token_urlsafe(32)
        self._is_spent = False

    @property
    def address(self) -> str:
        """Return the address for the user to open."""
        return f"http://{self._host}{ENTRANCE}?key={self.key}"

    @property
    def _cookie_name(self) -> str:
        """Return a cookie name with the port, because browsers share cookies between ports."""
        return f"insight-{self._host.rpartition(':')[2]}"

    def _spend(self, given: str) -> bool:
        """Return whether this is the unused key, and mark it as used."""
        if self._is_spent or not _is_same(given, self.key):
            return False
        self._is_spent = True
        return True

    def _knows(self, cookies: str) -> bool:
        """Return whether a `Cookie` header has our cookie."""
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
        """Answer a request that is not admitted; return None for admitted ones."""
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
            return _say(400, "A header that may be sent only once was sent twice.")
        if headers.get("host", "") != self._host:
            return _say(421, f"Only http://{self._host} is served here.")
        if method not in METHODS:
            return _say(405, "Read only: use GET or HEAD.", {"allow": ", ".join(METHODS)})
        own = f"http://{self._host}"
        if headers.get("sec-fetch-site", "none") not in SAME or headers.get("origin", own) != own:
            return _say(403, "Another page sent this request. Open the address yourself.")
        return None

    def _enter(self, scope: Scope) -> Response:
        given = QueryParams(scope["query_string"]).get("key", "")
        if scope["method"] != "GET" or not self._spend(given):
            return _say(403, "The key is used or invalid. Start `doctor insight` again.")
        answer = RedirectResponse("/", 303)
        answer.set_cookie(self._cookie_name, self._cookie, httponly=True, samesite="strict")
        return answer


def _is_same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())


def _say(status: int, words: str, headers: dict[str, str] | None = None) -> Response:
    return PlainTextResponse(f"{words}\n", status, headers)


AT_ONCE = 4  # maximum number of pages that are built at once, each in a thread

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
        """Answer one request that the gate admitted."""
        answer = await self._answer(scope)
        await answer(scope, receive, send)

    async def _answer(self, scope: Scope) -> Response:
        path = scope["path"]
        if path in FILES:
            name, media_type = FILES[path]
            return Response(read_static(name), media_type=f"{media_type}; charset=utf-8")
        page = BY_PATH.get(path)
        if page is None:
            words = "There is no page at this address."
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
    """Build one whole page, including problems with reading its data."""
    body = render_body(page, Reader(config), asked)
    return render_page(page, PAGES, body, config.project.name)


@cache
def read_static(name: str) -> bytes:
    """Read a file that comes with the package."""
    return (files("ctxmode.insight") / "static" / name).read_bytes()


def write_file(config: Config, path: Path) -> int:
    """Write the first part of each page into a file that only its owner can read; return its size.
    An existing file is replaced.

    Raises:
        UsageError: the path is not a regular file, or its folder does not exist.
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
            f"cannot write {path}: {why(error)}", "Give another file."
        ) from error
    return len(content)


def _check_place(path: Path) -> None:
    try:
        found = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        if not path.parent.is_dir():
            raise UsageError(
                f"cannot write {path}: no folder {path.parent}", "Create it first."
            ) from None
        return
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot write {path}: {why(error)}", "Give another file.") from error
    if not stat.S_ISREG(found.st_mode):
        raise UsageError(f"cannot write {path}: not a regular file", "Give another file.")


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
    """Serve until cancelled, or until there was no request for `idle_s`. `announce` gets the
    address with its key.

    Raises:
        UsageError: the port is invalid.
        ContextModeError: the address cannot be used.
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
