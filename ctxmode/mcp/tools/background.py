"""`ctx_background`: read, await or stop a run in the background."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ctxmode.mcp import reply
from ctxmode.mcp.reply import BACKGROUND, RUN, Reply, background_reply, object_schema
from ctxmode.mcp.tool import ANSWER_GRACE_S, RUNS_CODE, Arguments, CallContext, Tool, seconds
from ctxmode.render import results


class BackgroundArguments(Arguments):
    handle: str | None = Field(None, description="none: list all")
    wait: Annotated[float, Field(gt=0, le=600_000)] | None = Field(
        None, description="ms to wait for its end"
    )
    stop: bool = False


async def _call(call: CallContext, given: BackgroundArguments) -> Reply:
    if given.handle is None:
        known = call.app.backgrounds(call.client.owner)
        listed = [reply.describe_background(one, with_output=False) for one in known]
        return Reply(results.backgrounds_text(known), {"background": listed})
    wait_s = seconds(given.wait) or 0
    owner = call.client.owner
    return background_reply(
        await call.app.background(given.handle, wait_s=wait_s, stop=given.stop, owner=owner)
    )


TOOL = Tool(
    name="ctx_background",
    description="""\
WHEN: ctx_execute started a program in the background: read its output so far, await its end, or \
stop it.
WHEN NOT: the answer is needed first: ctx_execute with a timeout.
RETURNS: what it printed, whether it runs, at its end the same as ctx_execute. It ends with this \
server, or after its timeout (default 1 h).
EXAMPLE: {"handle":"bg-3fa9c1","wait":20000}""",
    arguments=BackgroundArguments,
    annotations=RUNS_CODE,
    call=_call,
    deadline_s=lambda given: (seconds(given.wait) or 0) + ANSWER_GRACE_S,
    output_schema=object_schema(RUN | BACKGROUND),
)
