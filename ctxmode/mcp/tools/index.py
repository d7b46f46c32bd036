"""`ctx_index`: make content, a file or a folder searchable."""

from __future__ import annotations

from pydantic import Field

from ctxmode.mcp.reply import INTEGER, TEXT, Reply, object_schema
from ctxmode.mcp.tool import ADDS, Arguments, CallContext, Strings, Tool
from ctxmode.operations.indexing import IndexRequest
from ctxmode.render import results


class IndexArguments(Arguments):
    content: str | None = None
    path: str | None = None
    source: str | None = Field(None, description="label")
    include: Strings = Field([], description="globs")
    exclude: Strings = Field([], description="globs")
    extensions: Strings = Field([])
    maxDepth: int = Field(5, ge=0)  # noqa: N815 - the wire's name
    maxFiles: int = Field(200, ge=1)  # noqa: N815
    respectGitignore: bool = True  # noqa: N815
    followSymlinks: bool = False  # noqa: N815


async def _call(call: CallContext, given: IndexArguments) -> Reply:
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
    data = {key: value for key, value in answer.to_json().items() if key != "left_out"}
    data["next"] = find
    return Reply(text, data)


TOOL = Tool(
    name="ctx_index",
    description="""\
WHEN: documents or code will be asked about more than once: a path (file or folder of the \
project), or content with a source label.
WHEN NOT: one question about one file: ctx_execute_file.
RETURNS: how many sections became searchable, what was left out and why.
EXAMPLE: {"path":"docs","source":"docs"}""",
    arguments=IndexArguments,
    annotations=ADDS,
    call=_call,
    deadline_s=lambda given: 300.0,
    output_schema=object_schema({"source": TEXT, "sections": INTEGER}, ("source", "sections")),
)
