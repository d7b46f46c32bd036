"""`ctx_fetch_and_index`: fetch pages and make them searchable."""

from __future__ import annotations

from ctxmode.mcp.reply import Reply
from ctxmode.mcp.tool import CallContext, Given
from ctxmode.web.model import fetch_text
from ctxmode.web.pages import DAY_S, FetchRequest, PageRequest

PAGE_KEYS = ("url", "status", "source", "title", "sections", "bytes", "error")


async def ctx_fetch_and_index(call: CallContext, given: Given) -> Reply:
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
