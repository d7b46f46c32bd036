"""`ctx_execute`: run a program."""

from __future__ import annotations

from pydantic import Field

from ctxmode.mcp.reply import BACKGROUND, RUN, Reply, background_reply, object_schema, run_reply
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
from runtimes import LANGUAGES


class ExecuteArguments(Arguments):
    language: str
    code: str
    timeout: Milliseconds | None = Field(None, description="ms; default 120000")
    cwd: str | None = Field(None, description="in the project")
    intent: str | None = Field(None, description="what you look for")
    profile: str = Field(
        "analyze", description="analyze: project changes are listed, not kept; build: kept"
    )
    artifacts: Strings = Field([], description="files to hand back, globs; images are shown")
    session: str | None = Field(
        None,
        description="any name; its calls share variables (python, javascript, ruby, r, shell) "
        "and /tmp, and see the project live, read-only under analyze",
    )
    fresh: bool = Field(False, description="empty the session first")
    packages: Strings = Field([], description="to import")
    background: bool = Field(False, description="get a handle for ctx_background")


async def _call(call: CallContext, given: ExecuteArguments) -> Reply:
    request = Request(
        given.language,
        code=given.code,
        cwd=given.cwd,
        timeout_s=seconds(given.timeout),
        profile=given.profile,
        intent=given.intent,
        artifacts=tuple(given.artifacts),
        background=given.background,
        session=given.session,
        fresh=given.fresh,
        packages=tuple(given.packages),
        owner=call.client.owner,
    )
    if given.background:
        return background_reply(await call.app.start(request, call.caller))
    return run_reply(await call.execute(request))


TOOL = Tool(
    name="ctx_execute",
    description=f"""\
WHEN: a command or a computation may print more than a few lines, or data should be counted, \
filtered, joined or parsed: write a program that prints only the answer. Languages: \
{", ".join(language.name for language in LANGUAGES)}.
WHEN NOT: a short command that changes the machine (git commit, mkdir, install): use the host's \
own shell, here the project is a copy and the network is off.
RETURNS: what it printed up to 4 KB, then one line: status, exit code, times, sandbox, changed \
files. Larger output: head and tail, or with intent the sections that match; all of it is kept \
under an output_id for ctx_search.
EXAMPLE: {{"language":"shell","code":"npm test 2>&1","intent":"failing tests"}}""",
    arguments=ExecuteArguments,
    annotations=RUNS_CODE,
    call=_call,
    deadline_s=run_deadline,
    output_schema=object_schema(RUN | BACKGROUND),
)
