"""`ctx_doctor`: tell what works on this machine."""

from __future__ import annotations

from ctxmode.mcp.reply import OBJECT, Reply, object_schema
from ctxmode.mcp.tool import READS, CallContext, NoArguments, Tool
from ctxmode.render import health


async def _call(call: CallContext, given: NoArguments) -> Reply:
    del given
    diagnosis = await call.app.doctor()
    return Reply(health.doctor_text(diagnosis), diagnosis.to_json())


TOOL = Tool(
    name="ctx_doctor",
    description="""\
WHEN: a language fails to start, or you need to know which run here and how strong the sandbox is.
WHEN NOT: before ordinary calls: each result names what confined it.
RETURNS: each language with version or the reason and remedy, the isolation layers, the storage.
EXAMPLE: {}""",
    arguments=NoArguments,
    annotations=READS,
    call=_call,
    deadline_s=lambda given: 180.0,
    output_schema=object_schema({"languages": OBJECT}, ("languages",)),
)
