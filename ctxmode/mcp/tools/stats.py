"""`ctx_stats`: count what the tools produced, returned and kept."""

from __future__ import annotations

from ctxmode.doctor.diagnosis import list_prewarmed
from ctxmode.mcp.reply import OBJECT, Reply, object_schema
from ctxmode.mcp.tool import READS, CallContext, NoArguments, Tool
from ctxmode.operations.figures import build_stats_json, read_tool_figures
from ctxmode.operations.quotas import read_holdings
from ctxmode.render import health
from ctxmode.render.usage_table import usage_text


async def _call(call: CallContext, given: NoArguments) -> Reply:
    del given
    config = call.app.config
    usage, holdings = await call.app.read(
        lambda _: (read_tool_figures(config), read_holdings(config))
    )
    ready = await list_prewarmed(config)
    data = build_stats_json(usage, holdings, ready, with_days=False)
    lines = [*health.holdings_lines(holdings), *health.describe_prewarmed(ready)]
    return Reply("\n".join([usage_text(usage), *lines]), data)


TOOL = Tool(
    name="ctx_stats",
    description="""\
WHEN: the user asks what these tools have kept out of the conversation.
WHEN NOT: in the course of other work.
RETURNS: bytes produced, returned and kept, per tool and in all.
EXAMPLE: {}""",
    arguments=NoArguments,
    annotations=READS,
    call=_call,
    deadline_s=lambda given: 30.0,
    output_schema=object_schema({"tools": OBJECT, "total": OBJECT}, ("total",)),
)
