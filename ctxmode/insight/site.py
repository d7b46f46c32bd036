"""ASGI: the table of pages and the files beside them, behind the gate."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from importlib.resources import files

import trio
from starlette.datastructures import QueryParams
from starlette.responses import HTMLResponse, Response
from starlette.types import Receive, Scope, Send

from ctxmode.config.locations import Config
from ctxmode.insight.model import Asked, Page
from ctxmode.insight.pages import PAGES
from ctxmode.insight.reading import Reader
from ctxmode.insight.rendering import render_body, render_page, render_words

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
