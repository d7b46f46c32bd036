"""What may be asked of facts, a row an action: the answer as data and as text, for every skin."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ctxmode.errors import UsageError
from ctxmode.render import fact_texts
from memory.facts import (
    ALL,
    CATEGORIES,
    DEFAULT_BUDGET,
    DEFAULT_CONTEXT,
    MAIN,
    SCOPES,
    SIDES,
    Change,
    Draft,
    Fact,
    FactStore,
    Memory,
    Recall,
    RecallRequest,
    UnknownFactError,
    Written,
    compare_branches,
    create_branch,
    drop_branch,
    list_branches,
    merge_branch,
    parse_confidence,
    parse_ttl,
    recall_json,
)

LIMIT = 50
LOG_LIMIT = 20
LIMIT_MAX = 10_000


@dataclass(frozen=True, slots=True)
class FactRequest:
    """What is asked for, each field as a person or a client gave it."""

    text: str = ""
    wanted: str = ""  # an id, a path or a key
    branch: str = MAIN
    base: str = MAIN  # the branch that is begun from, compared with, or merged into
    key: str = ""
    context: str = DEFAULT_CONTEXT
    title: str = ""
    tags: tuple[str, ...] = ()
    confidence: float | str = "medium"
    category: str = "observe"
    why: str = ""
    ttl: str = ""
    scope: str = ""
    supersedes: str = ""
    source: str = ""
    budget: int = DEFAULT_BUDGET
    prefix: str = ""
    limit: int = 0
    take: tuple[str, ...] = ()
    is_exact: bool = False
    is_expired: bool = False
    is_pinned: bool = False
    is_dropped: bool = False
    is_erased: bool = False


@dataclass(frozen=True, slots=True)
class FactAnswer:
    """The answer."""

    data: Mapping[str, Any]
    text: str
    recalled_bytes: int = 0  # of a recall's text
    is_conflict: bool = False  # a merge wrote nothing
    recall: Recall | None = None


def answer(memory: Memory, action: str, asked: FactRequest) -> FactAnswer:
    """Do what is asked for.

    Raises:
        MemoryRoomError: it cannot be done; nothing was written.
        UsageError: a field is not what it must be.
    """
    return ACTIONS[action](memory, asked)


def name_written_file(action: str, asked: FactRequest) -> str:
    """Name the file that an action makes where it is missing: "project", "user", or none."""
    if action == "remember" and asked.scope == "user":
        return "user"
    return "project" if action in MAKERS else ""


def _remember(memory: Memory, asked: FactRequest) -> FactAnswer:
    _require("category", asked.category, CATEGORIES)
    _require("scope", asked.scope or "project", SCOPES)
    draft = Draft(
        asked.text,
        title=asked.title,
        path=asked.key if asked.key.startswith("/") else "",
        key="" if asked.key.startswith("/") else asked.key,
        context=asked.context,
        tags=asked.tags,
        confidence=parse_confidence(asked.confidence),
        category=asked.category,  # type: ignore[arg-type]
        why=asked.why,
        source=asked.source,
        ttl_s=parse_ttl(asked.ttl),
        scope=asked.scope or "project",  # type: ignore[arg-type]
        supersedes=asked.supersedes,
    )
    written = memory.remember(draft, branch=asked.branch)
    return FactAnswer(describe_written(written), fact_texts.written_text(written))


def _recall(memory: Memory, asked: FactRequest) -> FactAnswer:
    scopes = SCOPES
    if asked.scope:
        _require("scope", asked.scope, SCOPES)
        scopes = (asked.scope,)  # type: ignore[assignment]
    request = RecallRequest(
        query=asked.text,
        budget=asked.budget,
        branch=asked.branch,
        scopes=scopes,
        is_exact=asked.is_exact,
        session=memory.author.session,
        limit=_check_limit(asked.limit),
    )
    found = memory.recall(request)
    data = recall_json(found) | {"text": found.text}
    return FactAnswer(data, found.text, len(found.text.encode()), recall=found)


def _search(memory: Memory, asked: FactRequest) -> FactAnswer:
    if not asked.text.strip():
        raise UsageError("a search for nothing", "Name some words, or use list.")
    found = memory.search(
        asked.text,
        prefix=asked.prefix,
        branch=asked.branch,
        is_exact=asked.is_exact,
        limit=_check_limit(asked.limit) or LIMIT,
    )
    rows = [
        describe(one.fact) | {"full_match": one.is_full_match, "matched": list(one.matched)}
        for one in found
    ]
    return FactAnswer({"facts": rows}, fact_texts.list_text([one.fact for one in found]))


def _forget(memory: Memory, asked: FactRequest) -> FactAnswer:
    if asked.is_erased:
        erased = memory.erase(asked.wanted, why=asked.why)
        data = {
            "ids": list(erased.ids),
            "paths": list(erased.paths),
            "erased": True,
            "snapshots": erased.snapshots,
            "lost_snapshots": list(erased.lost_snapshots),
        }
        named = ", ".join(erased.ids)
        return FactAnswer(data, f"Erased {named}: no copy of its text is kept here.")
    fact = memory.forget(asked.wanted, branch=asked.branch, why=asked.why)
    text = f"{fact.id} is forgotten at {fact.path}; its history stays."
    return FactAnswer({"id": fact.id, "path": fact.path, "erased": False}, text)


def _pin(memory: Memory, asked: FactRequest) -> FactAnswer:
    fact = memory.pin(asked.wanted, branch=asked.branch, why=asked.why)
    text = f"{fact.id} is pinned: each recall begins with it."
    return FactAnswer({"id": fact.id, "path": fact.path, "pinned": True}, text)


def _unpin(memory: Memory, asked: FactRequest) -> FactAnswer:
    fact = memory.unpin(asked.wanted, branch=asked.branch, why=asked.why)
    text = f"{fact.id} is pinned no more."
    return FactAnswer({"id": fact.id, "path": fact.path, "pinned": False}, text)


def _prime(memory: Memory, asked: FactRequest) -> FactAnswer:
    primed = memory.prime(
        asked.text,
        source=asked.source or asked.key or "note",
        title=asked.title,
        is_pinned=asked.is_pinned,
        branch=asked.branch,
    )
    data = {name: list(getattr(primed, name)) for name in ("added", "changed", "removed", "same")}
    text = fact_texts.primed_text(data)
    return FactAnswer(data | {"redactions": primed.redactions}, text)


def _list(memory: Memory, asked: FactRequest) -> FactAnswer:
    facts = memory.list(
        prefix=asked.prefix or asked.key, branch=asked.branch, is_expired=asked.is_expired
    )
    shown = facts[: _check_limit(asked.limit) or LIMIT_MAX]
    data = {"facts": [describe(one) for one in shown], "total": len(facts)}
    text = fact_texts.list_text(shown)
    if len(shown) < len(facts):
        text += f"\n{len(shown)} of {len(facts)} are shown; a prefix chooses."
    return FactAnswer(data, text)


def _show(memory: Memory, asked: FactRequest) -> FactAnswer:
    fact = memory.find(asked.wanted, branch=asked.branch)
    return FactAnswer(describe(fact), fact_texts.fact_text(fact))


def _blame(memory: Memory, asked: FactRequest) -> FactAnswer:
    wanted = asked.wanted or _find_best(memory, asked)
    changes = memory.blame(wanted, branch=asked.branch)
    data = {"path": changes[0].path if changes else wanted}
    rows = [describe_change(one) for one in changes]
    return FactAnswer(data | {"changes": rows}, fact_texts.log_text(changes, with_texts=True))


def _find_best(memory: Memory, asked: FactRequest) -> str:
    """Return the path of the fact that answers a text best."""
    found = memory.search(asked.text, branch=asked.branch, limit=1)
    if not found:
        raise UnknownFactError(
            f"no fact answers {asked.text[:80]!r}",
            "List them: context-mode memory list",
        )
    return found[0].fact.path


def _log(memory: Memory, asked: FactRequest) -> FactAnswer:
    limit = _check_limit(asked.limit) or LOG_LIMIT
    changes = memory.log(branch=asked.branch, prefix=asked.prefix, limit=limit)
    return FactAnswer(
        {"changes": [describe_change(one) for one in changes]}, fact_texts.log_text(changes)
    )


def _branch(memory: Memory, asked: FactRequest) -> FactAnswer:
    if asked.wanted and asked.is_dropped:
        drop_branch(_require_project(memory), asked.wanted, memory.author)
        data = {"name": asked.wanted, "state": "dropped"}
        return FactAnswer(data, f"{asked.wanted} is dropped; its history stays.")
    if asked.wanted:
        made = create_branch(
            _require_project(memory), asked.wanted, parent=asked.base, author=memory.author
        )
        data = {"name": made.name, "parent": made.parent, "state": made.state}
        return FactAnswer(data, f"{made.name} begins from {made.parent}.")
    if asked.is_dropped:
        raise UsageError("no branch is named", "Name the one to drop.")
    found = list_branches(_require_project(memory))
    rows = [
        {
            "name": one.name,
            "parent": one.parent,
            "state": one.state,
            "changes": one.changes,
            "created_at": one.created_at,
            "agent": one.agent,
        }
        for one in found
    ]
    lines = [f"{row['name']}  {row['state']}, {row['changes']} changes" for row in rows]
    return FactAnswer({"branches": rows}, "\n".join(lines))


def _diff(memory: Memory, asked: FactRequest) -> FactAnswer:
    found = compare_branches(_require_project(memory), asked.base, asked.wanted or asked.branch)
    rows = [
        {"path": one.path, "status": one.status, "a": _text(one.ours), "b": _text(one.theirs)}
        for one in found
    ]
    data = {"a": asked.base, "b": asked.wanted or asked.branch, "paths": rows}
    return FactAnswer(data, fact_texts.diff_text(rows))


def _merge(memory: Memory, asked: FactRequest) -> FactAnswer:
    merged, conflicts = merge_branch(
        _require_project(memory),
        asked.wanted or asked.branch,
        into=asked.base,
        take=_read_sides(asked.take),
        author=memory.author,
    )
    rows = [
        {
            "path": one.path,
            "base": _text(one.base),
            "ours": _text(one.ours),
            "theirs": _text(one.theirs),
        }
        for one in conflicts
    ]
    data = {"into": asked.base, "merged": list(merged), "conflicts": rows}
    text = fact_texts.merge_text(data)
    return FactAnswer(data, text, is_conflict=bool(rows))


def _read_sides(given: tuple[str, ...]) -> dict[str, Any]:
    """Read whose value a path in conflict gets: ours, theirs, or PATH=ours."""
    take = {}
    for one in given:
        path, _, side = one.rpartition("=")
        _require("side of a conflict", side, (*SIDES,))
        take[path or ALL] = side
    return take


def _require_project(memory: Memory) -> FactStore:
    if memory.project is None:
        raise UsageError("nothing is remembered in this project yet", "Write a fact first.")
    return memory.project


def _text(fact: Fact | None) -> str | None:
    return None if fact is None else fact.text


def _require(name: str, value: object, known: tuple[str, ...]) -> None:
    if value not in known:
        raise UsageError(f"{str(value)[:40]!r} is no {name}", f"Give one of {', '.join(known)}.")


def _check_limit(limit: int) -> int:
    if not 0 <= limit <= LIMIT_MAX:
        raise UsageError(f"a limit of {limit}", f"Give 1 to {LIMIT_MAX}.")
    return limit


def describe(fact: Fact) -> dict[str, Any]:
    """Build what is told of a fact."""
    names = ("id", "path", "title", "text", "scope", "branch", "at", "agent", "session")
    data = {name: getattr(fact, name) for name in names}
    more = ("category", "why", "confidence", "source", "expires_at")
    data |= {name: getattr(fact, name) for name in more}
    return data | {"pinned": fact.is_pinned, "tags": list(fact.tags)}


def describe_change(change: Change) -> dict[str, Any]:
    """Build what is told of a line of the ledger."""
    names = ("seq", "branch", "path", "operation", "at", "agent", "session", "category", "why")
    data = {name: getattr(change, name) for name in names}
    more = ("confidence", "source", "expires_at", "scope", "title", "text", "supersedes")
    data |= {name: getattr(change, name) for name in more}
    return data | {"id": change.fact_id, "pinned": change.is_pinned}


def describe_written(written: Written) -> dict[str, Any]:
    """Build what is told of what became of a draft."""
    return {
        "id": written.id,
        "path": written.path,
        "seq": written.seq,
        "unchanged": written.is_unchanged,
        "replaced": written.replaced,
        "redactions": written.redactions,
        "similar": [
            {"id": one.id, "path": one.path, "text": one.text, "overlap": overlap}
            for one, overlap in written.similar
        ],
    }


ACTIONS: Mapping[str, Callable[[Memory, FactRequest], FactAnswer]] = {
    "remember": _remember,
    "recall": _recall,
    "search": _search,
    "forget": _forget,
    "pin": _pin,
    "unpin": _unpin,
    "list": _list,
    "show": _show,
    "blame": _blame,
    "log": _log,
    "branch": _branch,
    "merge": _merge,
    "diff": _diff,
    "prime": _prime,
}
MAKERS = frozenset({"remember", "prime", "branch", "diff", "merge"})
"""The actions that begin the project's file. All others read what is there."""
