"""`ctx_search`: find passages in what was kept."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from ctxmode.mcp import structured
from ctxmode.mcp.arguments import Arguments, Query, read_list
from ctxmode.mcp.output_schemas import QUERIES, object_schema
from ctxmode.mcp.reply import Reply
from ctxmode.mcp.tool import READS, CallContext, Tool
from ctxmode.operations.searching import SearchRequest
from ctxmode.render import passages


class SearchArguments(Arguments):
    queries: Annotated[list[Query], BeforeValidator(read_list), Field(min_length=1, max_length=50)]
    limit: int = Field(3, ge=1, le=50, description="per query")
    source: str | None = Field(None, description="label, part of one, or output_id")
    contentType: Literal["code", "prose"] | None = None  # noqa: N815
    sort: Literal["relevance", "timeline"] = "relevance"


async def _call(call: CallContext, given: SearchArguments) -> Reply:
    request = SearchRequest(
        tuple(given.queries),
        given.limit,
        given.source,
        given.contentType,
        given.sort,
    )
    answer = await call.app.read(lambda library: library.search(request))
    return Reply(passages.search_text(answer), structured.search(answer))


TOOL = Tool(
    name="ctx_search",
    description="""\
WHEN: something indexed, the kept output of a run or an earlier session holds the answer. Several \
queries in one call cost the least; a query may hold kind:code, lang:python, path:src/, since:7d, \
kind:session, agent:codex, session:ID.
WHEN NOT: nothing was indexed or run yet: ctx_index or ctx_execute first.
RETURNS: per query the best passages, exact text with source and lines.
EXAMPLE: {"queries":["timeout retry","exit code"],"source":"out-7f3k2m9q"}""",
    arguments=SearchArguments,
    annotations=READS,
    call=_call,
    deadline_s=lambda given: 60.0,
    output_schema=object_schema(QUERIES, ("queries",)),
)
