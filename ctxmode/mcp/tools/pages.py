"""`ctx_pages`: write knowledge as versioned pages, push them, and see what changed in them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, create_model

from ctxmode.config.file_names import has_drafts
from ctxmode.mcp.reply import Reply, object_schema
from ctxmode.mcp.tool import FETCHES, Arguments, CallContext, Tool
from ctxmode.operations.facts import find_author
from ctxmode.operations.library import Library
from ctxmode.operations.page_answers import PageAnswer, PageRequest, answer
from ctxmode.operations.page_buffer import find_turns
from ctxmode.operations.pages import not_begun, open_pages
from ctxmode.operations.session_choice import list_owners
from memory.pages import PageType

Action = Literal[
    "write", "push", "read", "list", "diff", "history", "status", "evolution", "blame", "pull",
]  # fmt: skip


def _read_fields(value: object) -> object:
    """Return fields as an object; some clients send its JSON."""
    if isinstance(value, str):
        try:
            return json.loads(value) if value.strip() else {}
        except (ValueError, RecursionError):
            return value
    return value


class _PageArguments(Arguments):
    action: Action
    slug: str = ""
    type: PageType | None = None
    text: str = Field("", description="Markdown")
    fields: Annotated[Mapping[str, Any], BeforeValidator(_read_fields)] = Field(
        default_factory=dict, description="tags, sources, related, reasoning_summary"
    )
    tag: str = ""
    message: str = ""
    distill_done: bool = False
    source_slug: str = ""
    no_distill: bool = False
    force: bool = False
    from_run: bool = False
    to: str = Field("", description="commit")
    limit: int = 0


# `from` is a word of Python's, so that it can be no attribute of a class that is written out.
_FROM: Any = {"from": (str, "")}
PageArguments = create_model("PageArguments", __base__=_PageArguments, **_FROM)


async def _call(call: CallContext, given: Any) -> Reply:  # noqa: ANN401 - PageArguments
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


def _build_request(given: Any, agent: str, session: str) -> PageRequest:  # noqa: ANN401 - as above
    same = {one.name for one in fields(PageRequest)}
    return PageRequest(
        **given.model_dump(include=same - {"type"}),
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


TOOL = Tool(
    name="ctx_pages",
    description="""\
WHEN: knowledge should outlast the session: how something works, a named system, a comparison.
WHEN NOT: one fact: ctx_memory.
RETURNS: the page, what changed by section, or what comes next; push commits drafts. A source \
without text: its template.
EXAMPLE: {"action":"write","slug":"retries","type":"concept","text":"## Why\\n…"}""",
    arguments=PageArguments,
    annotations=FETCHES,
    call=_call,
    deadline_s=lambda given: 120.0,
    output_schema=object_schema({}),
)
