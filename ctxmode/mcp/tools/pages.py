"""`ctx_pages`: write knowledge as versioned pages, push them, and see what changed in them."""

from __future__ import annotations

from ctxmode.commands.pages import OPERATIONS
from ctxmode.config.file_names import has_drafts
from ctxmode.mcp.reply import Reply
from ctxmode.mcp.tool import CallContext, Given
from ctxmode.operations.facts import find_author
from ctxmode.operations.library import Library
from ctxmode.operations.operation import Answer, Asker, take_arguments
from ctxmode.operations.pages import not_begun
from ctxmode.operations.session_choice import list_owners


async def ctx_pages(call: CallContext, given: Given) -> Reply:
    owners = list_owners(call.client.holder)
    told = {name: value for name, value in vars(given).items() if value is not None}
    told["slugs"] = [given.slug] if given.slug else []
    # Whom a section is from decides whether to change it: an agent should not have to ask.
    told["blame"] = True

    def act(library: Library) -> Answer:
        if not has_drafts(str(library.config.project)):
            raise not_begun()
        author = find_author(library.config, call.client.name, owners)
        asker = Asker(library.config, agent=author.agent, session=author.session, owners=owners)
        operation = OPERATIONS[given.action]
        answer: Answer = operation(asker, **take_arguments(operation, told))
        return answer

    found = await call.app.read(act)
    return Reply(found.text.removesuffix("\n"), dict(found.data))
