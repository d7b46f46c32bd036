"""`ctx_stats`: count what the tools produced, returned and kept."""

from __future__ import annotations

from dataclasses import asdict

from ctxmode.doctor.diagnosis import list_prewarmed
from ctxmode.mcp.arguments import NoArguments
from ctxmode.mcp.output_schemas import OBJECT, object_schema
from ctxmode.mcp.reply import Reply
from ctxmode.mcp.tool import READS, CallContext, Tool
from ctxmode.operations.quotas import read_holdings
from ctxmode.render import health
from ctxmode.render.usage_table import read_usage, usage_text


async def _call(call: CallContext, given: NoArguments) -> Reply:
    del given
    config = call.app.config
    usage, holdings = await call.app.read(lambda _: (read_usage(config), read_holdings(config)))
    data = usage.to_json()
    del data["days"]
    ready = await list_prewarmed(config)
    data["prewarmed"] = [asdict(one) for one in ready]
    data["on_disk"] = holdings.to_json()
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
