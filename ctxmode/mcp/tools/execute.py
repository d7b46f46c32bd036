"""Tools that run programs: `ctx_execute`, `ctx_execute_file`, `ctx_background`."""

from __future__ import annotations

from ctxmode.mcp import reply
from ctxmode.mcp.reply import Reply, background_reply, run_reply
from ctxmode.mcp.tool import CallContext, Given, seconds
from ctxmode.render import results
from executor import Request


async def ctx_execute(call: CallContext, given: Given) -> Reply:
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


async def ctx_execute_file(call: CallContext, given: Given) -> Reply:
    request = Request(
        given.language,
        code=given.code,
        bind_file=given.path,
        timeout_s=seconds(given.timeout),
        intent=given.intent,
        packages=tuple(given.packages),
    )
    return run_reply(await call.execute(request))


async def ctx_background(call: CallContext, given: Given) -> Reply:
    if given.handle is None:
        known = call.app.backgrounds(call.client.owner)
        listed = [reply.describe_background(one, with_output=False) for one in known]
        return Reply(results.backgrounds_text(known), {"background": listed})
    wait_s = seconds(given.wait) or 0
    owner = call.client.owner
    return background_reply(
        await call.app.background(given.handle, wait_s=wait_s, stop=given.stop, owner=owner)
    )
