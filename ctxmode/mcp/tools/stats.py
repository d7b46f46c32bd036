"""State of the installation: `ctx_stats` shows byte counts, `ctx_doctor` shows what works here."""

from __future__ import annotations

from ctxmode.doctor.diagnosis import list_prewarmed
from ctxmode.mcp.reply import Reply
from ctxmode.mcp.tool import CallContext, Given
from ctxmode.operations.figures import build_stats_json, read_tool_figures
from ctxmode.operations.quotas import read_holdings
from ctxmode.render import health
from ctxmode.render.health import usage_text


async def ctx_stats(call: CallContext, given: Given) -> Reply:
    del given
    config = call.app.config
    usage, holdings = await call.app.read(
        lambda _: (read_tool_figures(config), read_holdings(config))
    )
    ready = await list_prewarmed(config)
    data = build_stats_json(usage, holdings, ready, with_days=False)
    lines = [*health.holdings_lines(holdings), *health.describe_prewarmed(ready)]
    return Reply("\n".join([usage_text(usage), *lines]), data)


async def ctx_doctor(call: CallContext, given: Given) -> Reply:
    del given
    diagnosis = await call.app.doctor()
    return Reply(health.doctor_text(diagnosis), diagnosis.to_json())
