"""Tools that run programs, and `ctx_changes`, which shows and applies their held changes."""

from __future__ import annotations

import time
from functools import partial

import trio

from ctxmode.errors import UsageError
from ctxmode.mcp import reply
from ctxmode.mcp.reply import Reply, background_reply, count_produced_bytes, run_reply
from ctxmode.mcp.tool import CallContext, Given, seconds
from ctxmode.operations import changes as kept_changes
from ctxmode.operations.batch import BatchCommand, BatchRequest, run_batch
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


DIFF_BYTES_MAX = 16 * 1024
NO_CONSENT = "nothing was applied: the user did not approve it"


async def ctx_changes(call: CallContext, given: Given) -> Reply:
    """List change sets, show one, apply it with the user's approval, or drop it."""
    known = kept_changes.ChangeSets(call.app.config)
    if given.id is None:
        listed = await trio.to_thread.run_sync(known.list)
        data = {"changes": [kept_changes.to_json(one) for one in listed]}
        return Reply(kept_changes.list_text(listed, time.time()), data)
    kept = await trio.to_thread.run_sync(known.get, given.id)
    if given.action == "drop":
        await trio.to_thread.run_sync(known.drop, kept)
        return Reply(f"dropped {kept.id}", {"dropped": kept.id})
    if given.action == "apply":
        if not given.paths and not kept.staged:
            raise UsageError("held changes are applied path by path", "Give their paths.")
        preview = await trio.to_thread.run_sync(
            partial(known.apply, kept, given.paths, dry_run=True)
        )
        question = {
            "decision": "ask",
            "message": f"Apply {kept.id} to the project?\n"
            + kept_changes.commit_text(preview, dry_run=True)[:DIFF_BYTES_MAX],
            "matches": [],
        }
        if not await call.client.consent(question):
            hint = f"The user can apply it: context-mode changes apply {kept.id}"
            return Reply(f"{NO_CONSENT}. {hint}", {"applied": []}, is_error=True)
        done = await trio.to_thread.run_sync(partial(known.apply, kept, given.paths))
        text = kept_changes.commit_text(done, dry_run=False)
        return Reply(text, kept_changes.commit_json(done))
    path = given.paths[0] if given.paths else None
    diff = await trio.to_thread.run_sync(known.diff, kept, path)
    text = f"{kept_changes.summary_text(kept)}\n\n{diff}"
    shown = text.encode()[:DIFF_BYTES_MAX].decode(errors="ignore")
    cut = "" if shown == text else f"\n[cut at {DIFF_BYTES_MAX:,} bytes: give a path]"
    return Reply(shown + cut, kept_changes.to_json(kept))
