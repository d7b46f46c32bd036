"""`ctx_purge`: forget what was kept."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ctxmode.errors import UsageError
from ctxmode.mcp.reply import INTEGER, Reply, object_schema
from ctxmode.mcp.tool import FORGETS, Arguments, CallContext, Tool
from ctxmode.operations.library import age_s
from ctxmode.operations.purging import PurgeRequest
from ctxmode.render import results


class PurgeArguments(Arguments):
    confirm: bool
    scope: Literal["project", "session"] | None = None
    sessionId: str | None = None  # noqa: N815
    source: str | None = Field(None, description="part of a label, or output_id")
    kind: str | None = None
    olderThan: str | None = Field(None, description="age: 12h, 7d")  # noqa: N815


async def _call(call: CallContext, given: PurgeArguments) -> Reply:
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


TOOL = Tool(
    name="ctx_purge",
    description="""\
WHEN: kept text should be forgotten for good: all of the project, or what fits source, kind, \
sessionId and olderThan together.
WHEN NOT: something changed: index or run it again, the newer version is found.
RETURNS: how much was forgotten; nothing is without confirm.
EXAMPLE: {"confirm":true,"source":"docs/old.md"}""",
    arguments=PurgeArguments,
    annotations=FORGETS,
    call=_call,
    deadline_s=lambda given: 120.0,
    output_schema=object_schema({"sources": INTEGER}, ("sources",)),
)
