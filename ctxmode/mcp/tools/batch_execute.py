"""`ctx_batch_execute`: run several commands, then search their output."""

from __future__ import annotations

from ctxmode.mcp import reply
from ctxmode.mcp.reply import Reply, count_produced_bytes
from ctxmode.mcp.tool import CallContext, Given, seconds
from ctxmode.operations.answers import BatchCommand
from ctxmode.operations.batch import BatchRequest, run_batch
from ctxmode.render import results


async def ctx_batch_execute(call: CallContext, given: Given) -> Reply:
    request = BatchRequest(
        commands=tuple(
            BatchCommand(c.label, c.command, language=c.language, packages=tuple(c.packages))
            for c in given.commands
        ),
        queries=tuple(map(str.strip, given.queries)),
        timeout_s=seconds(given.timeout),
        concurrency=given.concurrency,
        cwd=given.cwd,
        scope=given.query_scope,
    )
    answer = await run_batch(call.app, request, call.caller_midway, fetching=call.caller)
    produced = sum(count_produced_bytes(one.answer) for one in answer.commands if one.answer)
    return Reply(results.batch_text(answer), reply.describe_batch(answer), produced=produced)
