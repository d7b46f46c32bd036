"""`ctx_fetch_and_index`: fetch pages and make them searchable."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from ctxmode.mcp.reply import LIST, Reply, object_schema
from ctxmode.mcp.tool import ANSWER_GRACE_S, FETCHES, Arguments, CallContext, Tool, read_list
from ctxmode.web.model import fetch_text
from ctxmode.web.pages import DAY_S, FetchRequest, PageRequest

PAGE_KEYS = ("url", "status", "source", "title", "sections", "bytes", "error")


def _read_requests(value: Any) -> Any:  # noqa: ANN401 - whatever a client sent
    """Requests as objects; a bare string is an address."""
    items = read_list(value)
    if not isinstance(items, list):
        return items
    return [{"url": item} if isinstance(item, str) else item for item in items]


class FetchOne(Arguments):
    url: str
    source: str | None = None


class FetchArguments(Arguments):
    url: str | None = None
    source: str | None = Field(None, description="label")
    requests: Annotated[list[FetchOne], BeforeValidator(_read_requests)] = Field([])
    concurrency: int = Field(4, ge=1, le=8)
    ttl: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = Field(
        None, description="ms; default a day"
    )
    force: bool = False


async def _call(call: CallContext, given: FetchArguments) -> Reply:
    wanted = [PageRequest(one.url, one.source or given.source) for one in given.requests]
    if given.url is not None:
        wanted.insert(0, PageRequest(given.url, given.source))
    request = FetchRequest(
        tuple(wanted),
        ttl_s=DAY_S if given.ttl is None else given.ttl / 1000,
        force=given.force,
        concurrency=given.concurrency,
    )
    answer = await call.app.fetch(request)
    pages = []
    for page in answer.pages:
        data = page.to_json()
        pages.append({key: data[key] for key in PAGE_KEYS if data[key] not in (None, "")})
    return Reply(
        fetch_text(answer),
        {"pages": pages},
        is_error=not answer.ok,
        produced=answer.produced,
    )


TOOL = Tool(
    name="ctx_fetch_and_index",
    description="""\
WHEN: a page of the web, or several, may hold the answer: each becomes searchable text (HTML as \
Markdown, PDF, JSON).
WHEN NOT: it was fetched within a day: ctx_search finds it.
RETURNS: per page its source label, sections and beginning, or why it failed.
EXAMPLE: {"url":"https://sqlite.org/json1.html","source":"sqlite"}""",
    arguments=FetchArguments,
    annotations=FETCHES,
    call=_call,
    deadline_s=lambda given: 30.0 * (1 + len(given.requests)) + ANSWER_GRACE_S,
    output_schema=object_schema({"pages": LIST}, ("pages",)),
)
