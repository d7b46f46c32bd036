"""`ctx_search`: find passages in the store."""

from __future__ import annotations

from ctxmode.mcp import reply
from ctxmode.mcp.reply import Reply
from ctxmode.mcp.tool import CallContext, Given
from ctxmode.operations.searching import SearchRequest
from ctxmode.render import passages
from kb.tokens import BYTES_PER_TOKEN


async def ctx_search(call: CallContext, given: Given) -> Reply:
    request = SearchRequest(
        tuple(map(str.strip, given.queries)),
        given.limit,
        given.source,
        given.contentType,
        given.sort,
        budget_bytes=given.budget * BYTES_PER_TOKEN,
    )
    answer = await call.app.search(request)
    return Reply(passages.search_text(answer), reply.describe_search(answer))
