"""`ctx_pack`: the project's files for a task, or its map, within a budget."""

from __future__ import annotations

from ctxmode.mcp.reply import Reply
from ctxmode.mcp.tool import CallContext, Given
from ctxmode.operations.library import Library


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
