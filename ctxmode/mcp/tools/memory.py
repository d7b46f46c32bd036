"""`ctx_memory`: remember facts, and recall those that fit a budget."""

from __future__ import annotations

from functools import partial

from ctxmode.config.locations import Config
from ctxmode.config.settings import load_settings
from ctxmode.errors import UsageError
from ctxmode.mcp.reply import Reply
from ctxmode.mcp.tool import CallContext, Given
from ctxmode.operations.fact_answers import (
    FactAnswer,
    FactRequest,
    answer,
    name_written_file,
)
from ctxmode.operations.facts import find_author, open_memory
from ctxmode.operations.library import Library
from ctxmode.operations.session_choice import list_owners
from ctxmode.render.highlight import one_line
from memory.facts import MAIN, Fact

PIN_SETTING = "memory.agents_pin"
ASKED_CHARS = 600
NOBODY = "No person can be asked here: one pins it with context-mode memory pin {id}."
REFUSED = "A person did not agree; nothing was pinned."


async def ctx_memory(call: CallContext, given: Given) -> Reply:
    asked = _build_request(given)
    owners = list_owners(call.client.holder)

    def act(library: Library) -> FactAnswer:
        author = find_author(library.config, call.client.name, owners)
        to_write = name_written_file(given.action, asked)
        with open_memory(library.config, author, to_write=to_write) as memory:
            return answer(memory, given.action, asked)

    if given.action == "pin":
        await _require_consent(call, asked)
    found = await call.app.read(act)
    text = found.text.removesuffix("\n")
    return Reply(text, dict(found.data), found.is_conflict, produced=found.recalled_bytes)


def _build_request(given: Given) -> FactRequest:
    is_of_branches = given.action in ("branch", "merge", "diff")
    needs = {"remember": "text", "prime": "text", "merge": "id or branch", "diff": "id or branch"}
    is_asked = given.action == "blame" and given.text.strip()
    names_one = given.action in ("forget", "pin", "unpin", "show", "blame")
    if names_one and not (_wanted(given) or is_asked):
        raise UsageError(f"{given.action} names no fact", "Give its id, or a path as the id.")
    if given.action in ("remember", "prime") and not given.text.strip():
        raise UsageError(f"{given.action} needs {needs[given.action]}", "Give what is to be kept.")
    if given.action in ("merge", "diff") and not given.id and given.branch == MAIN:
        raise UsageError(f"{given.action} names no branch", "Give the branch's name as the id.")
    return FactRequest(
        text=given.text,
        wanted=given.id if is_of_branches else _wanted(given),
        # `branch` is what a new one begins from, or what the named one is merged into.
        branch=given.branch,
        base=given.branch if given.id else MAIN,
        key=given.key,
        context=given.context or FactRequest().context,
        tags=tuple(given.tags),
        confidence=given.confidence,
        category=given.category,
        why=given.why,
        ttl=given.ttl,
        scope=given.scope or "",
        supersedes=given.id if given.action == "remember" else "",
        budget=given.budget,
        take=(given.text,) if given.action == "merge" and given.text else (),
    )


def _wanted(given: Given) -> str:
    return str(given.id or given.key)


async def _require_consent(call: CallContext, asked: FactRequest) -> None:
    """Let an agent pin only as the person's own settings say: what is pinned reaches every later
    conversation. A UsageError says that it may not."""
    may, fact = await call.app.read(partial(_look_up, asked=asked))
    if fact.is_pinned or may == "allow":
        return
    if may == "deny":
        raise UsageError(
            f"{PIN_SETTING} lets no agent pin",
            f"A person pins it with context-mode memory pin {fact.id}.",
        )
    shown = one_line(" ".join(fact.text[:ASKED_CHARS].split()))
    question = (
        f"Pin this fact? Every later conversation then begins with it. {one_line(fact.path)} "
        f"({fact.id}), by {one_line(fact.agent)}: {shown}"
    )
    agreed = await call.client.consent({"question": question})
    if agreed is None:
        raise UsageError(f"{PIN_SETTING} asks a person", NOBODY.format(id=fact.id))
    if not agreed:
        raise UsageError("the fact stays unpinned", REFUSED)


def _look_up(library: Library, asked: FactRequest) -> tuple[str, Fact]:
    config: Config = library.config
    with open_memory(config) as memory:
        fact = memory.find(asked.wanted, branch=asked.branch)
    settings = load_settings(config.project, config.config_home)
    return str(settings.values[PIN_SETTING]), fact
