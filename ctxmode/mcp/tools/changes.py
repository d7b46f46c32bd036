"""`ctx_changes`: show held changes of runs, and apply them if the user approves."""

from __future__ import annotations

import time
from functools import partial

import trio

from ctxmode.errors import UsageError
from ctxmode.mcp.reply import Reply
from ctxmode.mcp.tool import CallContext, Given
from ctxmode.operations import changes as kept_changes

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
