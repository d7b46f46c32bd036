"""`ctx_pages`: write knowledge as versioned pages, push them, and show their changes."""

from __future__ import annotations

from ctxmode.commands.pages import OPERATIONS
from ctxmode.config.file_names import has_drafts
from ctxmode.mcp.reply import Reply
from ctxmode.mcp.tool import CallContext, Given
from ctxmode.operations.operation import take_arguments
from ctxmode.operations.pages import not_begun


async def ctx_pages(call: CallContext, given: Given) -> Reply:
    if not has_drafts(str(call.app.config.project)):
        raise not_begun()
    told = {name: value for name, value in vars(given).items() if value is not None}
    told["slugs"] = [given.slug] if given.slug else []
    # An agent needs the author of a section to decide whether to change it.
    told["blame"] = True
    operation = OPERATIONS[given.action]
    found = await call.perform(operation, take_arguments(operation, told))
    return Reply(found.text.removesuffix("\n"), dict(found.data))
