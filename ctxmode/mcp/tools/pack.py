"""`ctx_pack`: the project's files that a task is about, or its map, within a budget."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ctxmode.mcp.reply import INTEGER, LIST, Reply, object_schema
from ctxmode.mcp.tool import READS, Arguments, CallContext, Strings, Tool
from ctxmode.operations.library import Library
from repomap.pack_model import BUDGET

DEADLINE_S = 600.0
"""Longer than a first scan and the wait for another's, which have deadlines of their own."""


class PackArguments(Arguments):
    task: str = ""
    view: Literal["files", "signatures", "map"] = "files"
    budget: int = BUDGET
    paths: Strings = Field(default_factory=list)
    since: str = Field("", description="revision")
    tests: bool = True
    format: Literal["markdown", "json"] = "markdown"


async def _call(call: CallContext, given: PackArguments) -> Reply:
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


TOOL = Tool(
    name="ctx_pack",
    description="""\
WHEN: a task in this repository begins; view map: what the project is made of.
WHEN NOT: one passage is sought: ctx_search.
RETURNS: the files that it is about, best first, whole or in parts, within budget tokens.
EXAMPLE: {"task":"cart total is wrong"}""",
    arguments=PackArguments,
    annotations=READS,
    call=_call,
    deadline_s=lambda given: DEADLINE_S,
    output_schema=object_schema({"used_tokens": INTEGER, "files": LIST}),
)
