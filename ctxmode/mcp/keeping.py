"""Calls of the tools that keep, find and forget."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from ctxmode.errors import UsageError
from ctxmode.mcp import arguments, structured
from ctxmode.mcp.reply import Reply
from ctxmode.operations.indexing import IndexRequest
from ctxmode.operations.library import age_s
from ctxmode.operations.purging import PurgeRequest
from ctxmode.operations.quotas import holdings_lines
from ctxmode.operations.searching import SearchRequest
from ctxmode.render import passages, results
from ctxmode.render.usage_table import usage_text
from ctxmode.web.answers import fetch_text
from ctxmode.web.pages import DAY_S, FetchRequest, Wanted

if TYPE_CHECKING:
    from ctxmode.mcp.tools import Call

PAGE_KEYS = ("url", "status", "source", "title", "sections", "bytes", "error")

SEARCH_BYTES_MAX = 16 * 1024
"""What all passages of one call may cost together: about four thousand tokens."""


async def index(call: Call, given: arguments.Index) -> Reply:
    request = IndexRequest(
        content=None if given.content is None else given.content.encode("utf-8"),
        path=given.path,
        source=given.source,
        include=tuple(given.include),
        exclude=tuple(given.exclude),
        extensions=tuple(given.extensions),
        max_depth=given.maxDepth,
        max_files=given.maxFiles,
        respect_gitignore=given.respectGitignore,
        follow_symlinks=given.followSymlinks,
    )
    answer = await call.app.index(request)
    find = f', source="{answer.source}"' if answer.labelled else ""
    text = f'{results.index_text(answer)}\nFind it: ctx_search(queries=["…"]{find})'
    data = {key: value for key, value in answer.to_json().items() if key != "left_out"}
    return Reply(text, data)


async def search(call: Call, given: arguments.Search) -> Reply:
    request = SearchRequest(
        tuple(given.queries),
        given.limit,
        given.source,
        given.contentType,
        given.sort,
        budget_bytes=SEARCH_BYTES_MAX,
    )
    answer = await call.app.search(request)
    return Reply(passages.search_text(answer), structured.search(answer))


async def fetch(call: Call, given: arguments.Fetch) -> Reply:
    wanted = [Wanted(one.url, one.source or given.source) for one in given.requests]
    if given.url is not None:
        wanted.insert(0, Wanted(given.url, given.source))
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


async def purge(call: Call, given: arguments.Purge) -> Reply:
    if not given.confirm:
        return Reply("Purge cancelled. Pass confirm: true to proceed.", {"sources": 0})
    if given.sessionId is not None and given.scope == "project":
        raise UsageError("sessionId and scope project exclude each other", "Give one of them.")
    if given.scope == "session" and given.sessionId is None:
        raise UsageError("scope session needs a sessionId", "Give it, or another filter.")
    request = PurgeRequest(
        source=given.source,
        older_than_s=None if given.olderThan is None else age_s(given.olderThan),
        kind=given.kind,
        session=given.sessionId,
    )
    if not request.filtered:
        request = PurgeRequest(everything=True)
    elif given.scope == "project":
        raise UsageError("scope project and a filter exclude each other", "Give one of them.")
    purged = await call.app.purge(request)
    counts = {"sources": purged.sources, "sections": purged.chunks, "bytes": purged.text_bytes}
    return Reply(results.purged_text(purged), counts)


async def stats(call: Call, given: arguments.Stats) -> Reply:
    del given
    usage = await call.app.usage()
    data = usage.to_json()
    del data["days"]
    ready = await call.app.kept_ahead()
    data["kept_ahead"] = [asdict(one) for one in ready]
    holdings = await call.app.holdings()
    data["on_disk"] = holdings.to_json()
    lines = [usage_text(usage), *holdings_lines(holdings), *results.kept_ahead_lines(ready)]
    return Reply("\n".join(lines), data)
