"""`ctx_execute_file`: run a program over one file."""

from __future__ import annotations

from pydantic import Field

from ctxmode.mcp.reply import RUN, Reply, object_schema, run_reply
from ctxmode.mcp.tool import (
    RUNS_CODE,
    Arguments,
    CallContext,
    Milliseconds,
    Strings,
    Tool,
    run_deadline,
    seconds,
)
from executor.model import Request


class ExecuteFileArguments(Arguments):
    path: str = Field(min_length=1)
    language: str
    code: str
    timeout: Milliseconds | None = Field(None, description="ms")
    intent: str | None = None
    packages: Strings = Field([])


async def _call(call: CallContext, given: ExecuteFileArguments) -> Reply:
    request = Request(
        given.language,
        code=given.code,
        bind_file=given.path,
        timeout_s=seconds(given.timeout),
        intent=given.intent,
        packages=tuple(given.packages),
    )
    return run_reply(await call.execute(request))


TOOL = Tool(
    name="ctx_execute_file",
    description="""\
WHEN: a question about one large file: the program has its text as FILE_CONTENT, its path as \
FILE_CONTENT_PATH (lower case in rust and elixir), and prints the answer.
WHEN NOT: the file is to be edited: read it.
RETURNS: as ctx_execute.
EXAMPLE: {"path":"app.log","language":"python",\
"code":"print(FILE_CONTENT.count('ERROR'))"}""",
    arguments=ExecuteFileArguments,
    annotations=RUNS_CODE,
    call=_call,
    deadline_s=run_deadline,
    output_schema=object_schema(RUN, ("status", "exit_code")),
)
