"""`ctx_search`: find passages in what was kept."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from ctxmode.mcp import reply
from ctxmode.mcp.reply import QUERIES, Reply, object_schema
from ctxmode.mcp.tool import READS, Arguments, CallContext, Query, Tool, read_list
from ctxmode.operations.searching import SEARCH_BYTES_MAX, SearchRequest
from ctxmode.render import passages
from kb.tokens import BYTES_PER_TOKEN

SEARCH_TOKENS = SEARCH_BYTES_MAX // BYTES_PER_TOKEN
"""What all passages of one call cost together at most, unless another budget is given."""


class SearchArguments(Arguments):
    queries: Annotated[list[Query], BeforeValidator(read_list), Field(min_length=1, max_length=50)]
    limit: int = Field(3, ge=1, le=50, description="per query")
    source: str | None = Field(None, description="label, part of one, or output_id")
    contentType: Literal["code", "prose"] | None = None  # noqa: N815
    sort: Literal["relevance", "timeline"] = "relevance"
    budget: int = Field(SEARCH_TOKENS, description="tokens")


async def _call(call: CallContext, given: SearchArguments) -> Reply:
    request = SearchRequest(
        tuple(given.queries),
        given.limit,
        given.source,
        given.contentType,
        given.sort,
        budget_bytes=given.budget * BYTES_PER_TOKEN,
    )
    answer = await call.app.search(request)
    return Reply(passages.search_text(answer), reply.describe_search(answer))


TOOL = Tool(
    name="ctx_search",
    description="""\
WHEN: something kept holds the answer. Several queries cost one call; each may hold in:memory \
(runs, files, web, pages, sessions), lang:python, path:src/, since:7d, kind:session, agent:codex, \
session:ID.
WHEN NOT: nothing was indexed or run yet.
RETURNS: per query the best passages, exact text with source and lines.
EXAMPLE: {"queries":["timeout retry","exit code"],"source":"out-7f3k2m9q"}""",
    arguments=SearchArguments,
    annotations=READS,
    call=_call,
    deadline_s=lambda given: 60.0,
    output_schema=object_schema(QUERIES, ("queries",)),
)
