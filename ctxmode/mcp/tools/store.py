"""Tools of the store: fill it, search it, delete from it, and pack files of the project."""

from __future__ import annotations

from dataclasses import asdict

from ctxmode.errors import UsageError
from ctxmode.mcp import reply
from ctxmode.mcp.reply import Reply
from ctxmode.mcp.tool import CallContext, Given
from ctxmode.operations.library import Library, PurgeRequest, age_s
from ctxmode.operations.searching import SearchRequest
from ctxmode.render import passages, results
from kb.tokens import BYTES_PER_TOKEN


async def ctx_index(call: CallContext, given: Given) -> Reply:
    from ctxmode.operations.indexing import IndexRequest  # noqa: PLC0415 - a search does without

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
    answer = await call.app.write(lambda library: library.index(request))
    source = f', source="{answer.source}"' if answer.labelled else ""
    find = f'ctx_search(queries=["…"]{source})'
    text = f"{results.index_text(answer)}\nFind it: {find}"
    data = {key: value for key, value in asdict(answer).items() if key != "left_out"}
    data["next"] = find
    return Reply(text, data)


PAGE_KEYS = ("url", "status", "source", "title", "sections", "bytes", "error")


async def ctx_fetch_and_index(call: CallContext, given: Given) -> Reply:
    from ctxmode.web.model import PageStatus, fetch_text  # noqa: PLC0415 - as above
    from ctxmode.web.pages import DAY_S  # noqa: PLC0415

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


async def ctx_purge(call: CallContext, given: Given) -> Reply:
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
    purged, sessions = await call.app.write(
        lambda library: (library.purge(request), library.purge_sessions(request))
    )
    counts = {"sources": purged.sources, "sections": purged.chunks, "bytes": purged.text_bytes}
    if request.everything:
        counts["sessions"] = sessions
    return Reply(results.purge_text(purged, sessions), counts)


async def ctx_pack(call: CallContext, given: Given) -> Reply:
    def act(library: Library) -> Reply:
        from ctxmode.operations.packs import PackAsked, make_pack  # noqa: PLC0415 - few ask

        asked = PackAsked(
            task=given.task,
            budget=given.budget,
            format=given.format,
            paths=tuple(given.paths),
            with_source=given.view == "files",
            with_tests=given.tests,
            since=given.since,
            is_map=given.view == "map",
        )
        pack = make_pack(library.config, asked).pack
        data = {"used_tokens": pack.used, "files": [one.path for one in pack.items]}
        return Reply(pack.text, data, produced=len(pack.text.encode()))

    return await call.app.read(act)
