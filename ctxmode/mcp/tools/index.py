"""`ctx_index`: index content, a file or a folder."""

from __future__ import annotations

from dataclasses import asdict

from ctxmode.mcp.reply import Reply
from ctxmode.mcp.tool import CallContext, Given
from ctxmode.operations.indexing import IndexRequest
from ctxmode.render import results


async def ctx_index(call: CallContext, given: Given) -> Reply:
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
