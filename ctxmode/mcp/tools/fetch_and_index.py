"""`ctx_fetch_and_index`: fetch web pages and index them."""

from __future__ import annotations

from dataclasses import asdict

from ctxmode.mcp.reply import Reply
from ctxmode.mcp.tool import CallContext, Given
from ctxmode.web.model import PageStatus, fetch_text
from ctxmode.web.pages import DAY_S

PAGE_KEYS = ("url", "status", "source", "title", "sections", "bytes", "error")


async def ctx_fetch_and_index(call: CallContext, given: Given) -> Reply:
    wanted = [(one.url, one.source or given.source) for one in given.requests]
    if given.url is not None:
        wanted.insert(0, (given.url, given.source))
    found = await call.app.fetch(
        wanted,
        concurrency=given.concurrency,
        ttl_s=DAY_S if given.ttl is None else given.ttl / 1000,
        force=given.force,
    )
    pages = []
    for page in found:
        data = asdict(page)
        pages.append({key: data[key] for key in PAGE_KEYS if data[key] not in (None, "")})
    return Reply(
        fetch_text(found),
        {"pages": pages},
        is_error=not any(page.ok for page in found),
        # Bytes of text that this call fetched.
        produced=sum(page.bytes for page in found if page.status is PageStatus.NEW),
    )
