"""`ctx_pages`: write knowledge as versioned pages, push them, and see what changed in them."""

from __future__ import annotations

from dataclasses import fields, replace

from ctxmode.config.file_names import has_drafts
from ctxmode.mcp.reply import Reply
from ctxmode.mcp.tool import CallContext, Given
from ctxmode.operations.facts import find_author
from ctxmode.operations.library import Library
from ctxmode.operations.page_answers import PageAnswer, PageRequest, answer
from ctxmode.operations.page_buffer import find_turns
from ctxmode.operations.pages import not_begun, open_pages
from ctxmode.operations.session_choice import list_owners


async def ctx_pages(call: CallContext, given: Given) -> Reply:
    owners = list_owners(call.client.holder)

    def act(library: Library) -> PageAnswer:
        config = library.config
        if not has_drafts(str(config.project)):
            raise not_begun()
        author = find_author(config, call.client.name, owners)
        asked = _build_request(given, author.agent, author.session)
        asked = replace(asked, changes=config.state_dir / "changes")
        with open_pages(config) as pages:
            if given.action in ("push", "write"):
                asked = replace(asked, buffer=find_turns(config, pages, author.session))
            return answer(pages, given.action, asked)

    found = await call.app.read(act)
    return Reply(found.text.removesuffix("\n"), dict(found.data))


def _build_request(given: Given, agent: str, session: str) -> PageRequest:
    same = {one.name for one in fields(PageRequest)}
    return PageRequest(
        **{name: value for name, value in vars(given).items() if name in same - {"type"}},
        type=given.type or "",
        agent=agent,
        session=session,
        is_forced=given.force,
        is_from_run=given.from_run,
        start=getattr(given, "from"),
        end=given.to,
        # Whom a section is from decides whether to change it: an agent should not have to ask.
        has_blame=True,
    )
