"""`ctx_purge`: permanently delete stored text."""

from __future__ import annotations

from ctxmode.errors import UsageError
from ctxmode.mcp.reply import Reply
from ctxmode.mcp.tool import CallContext, Given
from ctxmode.operations.library import PurgeRequest, age_s
from ctxmode.render import results


async def ctx_purge(call: CallContext, given: Given) -> Reply:
    if not given.confirm:
        return Reply("Purge cancelled. Pass confirm: true to proceed.", {"sources": 0})
    if given.sessionId is not None and given.scope == "project":
        raise UsageError("sessionId and scope project exclude each other", "Give one of them.")
    if given.scope == "session" and given.sessionId is None:
        raise UsageError("scope session needs a sessionId", "Give it, or another filter.")
    request = PurgeRequest(
        source=given.source,
        older_than_s=None if given.olderThan is None else age_s(given.olderThan),
        kind=given.kind,
        session=given.sessionId,
    )
    if not request.filtered:
        request = PurgeRequest(everything=True)
    elif given.scope == "project":
        raise UsageError("scope project and a filter exclude each other", "Give one of them.")
    purged, sessions = await call.app.write(
        lambda library: (library.purge(request), library.purge_sessions(request))
    )
    counts = {"sources": purged.sources, "sections": purged.chunks, "bytes": purged.text_bytes}
    if request.everything:
        counts["sessions"] = sessions
    return Reply(results.purge_text(purged, sessions), counts)
