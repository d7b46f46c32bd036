"""`ctx_stats`: count what the tools produced, returned and kept."""

from __future__ import annotations

from dataclasses import asdict

from ctxmode.mcp.arguments import Arguments
from ctxmode.mcp.output_schemas import OBJECT, object_schema
from ctxmode.mcp.reply import Reply
from ctxmode.mcp.tool import READS, CallContext, Tool
from ctxmode.operations.quotas import holdings_lines
from ctxmode.render import results
from ctxmode.render.usage_table import usage_text


class StatsArguments(Arguments):
    pass


async def _call(call: CallContext, given: StatsArguments) -> Reply:
    del given
    usage = await call.app.usage()
    data = usage.to_json()
    del data["days"]
    ready = await call.app.kept_ahead()
    data["kept_ahead"] = [asdict(one) for one in ready]
    holdings = await call.app.holdings()
    data["on_disk"] = holdings.to_json()
    lines = [usage_text(usage), *holdings_lines(holdings), *results.describe_kept_ahead(ready)]
    return Reply("\n".join(lines), data)


TOOL = Tool(
    name="ctx_stats",
    description="""\
WHEN: the user asks what these tools have kept out of the conversation.
WHEN NOT: in the course of other work.
RETURNS: bytes produced, returned and kept, per tool and in all.
EXAMPLE: {}""",
    arguments=StatsArguments,
    annotations=READS,
    call=_call,
    deadline_s=lambda given: 30.0,
    output_schema=object_schema({"tools": OBJECT, "total": OBJECT}, ("total",)),
)
