"""`ctx_memory` and `ctx_pages`: facts within a budget, and knowledge as versioned pages."""

from __future__ import annotations

from functools import partial
from typing import Any

from ctxmode.commands import memory as facts
from ctxmode.commands import pages
from ctxmode.config.file_names import has_drafts
from ctxmode.config.settings import load_settings
from ctxmode.errors import UsageError
from ctxmode.mcp.reply import Reply
from ctxmode.mcp.tool import CallContext, Given
from ctxmode.operations.fact_history import trace_fact
from ctxmode.operations.facts import open_memory
from ctxmode.operations.library import Library
from ctxmode.operations.operation import take_arguments
from ctxmode.operations.pages import not_begun
from ctxmode.render.highlight import one_line
from memory.facts import MAIN, Fact

PIN_SETTING = "memory.agents_pin"
ASKED_CHARS = 600
NOBODY = "The user cannot be asked here, but can pin it: context-mode memory pin {id}"
REFUSED = "The user did not approve it."


async def ctx_memory(call: CallContext, given: Given) -> Reply:
    names_one = bool(given.id or given.key)
    is_traced = given.action == "blame" and given.text.strip() and not names_one
    operation = trace_fact if is_traced else facts.OPERATIONS[given.action]
    arguments = take_arguments(operation, _name_arguments(given))
    if given.action == "pin":
        await _require_consent(call, arguments["fact"], given.branch)
    found = await call.perform(operation, arguments)
    text = found.text.removesuffix("\n")
    return Reply(text, dict(found.data), found.is_failure, produced=found.recalled_bytes)


def _name_arguments(given: Given) -> dict[str, Any]:
    """Map the tool's arguments to parameters of operations; one argument has several meanings."""
    named = {name: value for name, value in vars(given).items() if value not in ("", None)}
    if not given.text.strip():
        named.pop("text", None)
    # `branch` is the parent of a new branch, or the branch that the named one is merged into.
    base = given.branch if given.id else MAIN
    other = given.id or (given.branch if given.branch != MAIN else "")
    return named | {
        "id": given.id or given.key,
        "supersedes": given.id,
        "query": given.text,
        "prefix": given.key,
        "source": given.key if given.action == "prime" else "",
        "name": given.id if given.action == "branch" else other,
        "base": base,
        "into": base,
        "take": [given.text] if given.text else [],
        "a": base,
        "b": other,
    }


async def _require_consent(call: CallContext, wanted: str, branch: str) -> None:
    """Raise UsageError unless the user's settings or the user allow an agent to pin, because pinned
    facts are added to every later conversation."""
    may, fact = await call.app.read(partial(_look_up, wanted=wanted, branch=branch))
    if fact.is_pinned or may == "allow":
        return
    if may == "deny":
        raise UsageError(
            f"{PIN_SETTING} does not allow agents to pin",
            f"The user can pin it: context-mode memory pin {fact.id}",
        )
    shown = one_line(" ".join(fact.text[:ASKED_CHARS].split()))
    question = (
        f"Pin this fact? Every later conversation then begins with it. {one_line(fact.path)} "
        f"({fact.id}), by {one_line(fact.agent)}: {shown}"
    )
    agreed = await call.client.consent({"question": question})
    if agreed is None:
        raise UsageError(f"{PIN_SETTING} needs the user's approval", NOBODY.format(id=fact.id))
    if not agreed:
        raise UsageError("the fact was not pinned", REFUSED)


def _look_up(library: Library, wanted: str, branch: str) -> tuple[str, Fact]:
    config = library.config
    with open_memory(config) as memory:
        fact = memory.find(wanted, branch=branch)
    settings = load_settings(config.project, config.config_home)
    return str(settings.values[PIN_SETTING]), fact


async def ctx_pages(call: CallContext, given: Given) -> Reply:
    if not has_drafts(str(call.app.config.project)):
        raise not_begun()
    told = {name: value for name, value in vars(given).items() if value is not None}
    told["slugs"] = [given.slug] if given.slug else []
    # An agent needs the author of a section to decide whether to change it.
    told["blame"] = True
    operation = pages.OPERATIONS[given.action]
    found = await call.perform(operation, take_arguments(operation, told))
    return Reply(found.text.removesuffix("\n"), dict(found.data))
