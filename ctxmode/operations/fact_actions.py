"""Actions on facts: remember, pin, forget, recall, search, list and show."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Annotated, Any, Literal, TypeAlias

from base.wording import inflect
from ctxmode.errors import UsageError
from ctxmode.launch import print_json, print_text
from ctxmode.operations import facts, tasks
from ctxmode.operations.operation import LIMIT_MAX, Answer, Arg, Asker, check_limit
from ctxmode.render import fact_texts
from memory.facts import (
    DECISIONS,
    DEFAULT_BUDGET,
    DEFAULT_CONTEXT,
    MAIN,
    SCOPES,
    Author,
    Category,
    Draft,
    Fact,
    Memory,
    RecallRequest,
    Scope,
    parse_confidence,
    parse_ttl,
    recall_json,
)

FactId: TypeAlias = Annotated[str, Arg(metavar="ID", name="id")]
Branch: TypeAlias = Annotated[str, Arg("default: main", "NAME")]
Why: TypeAlias = Annotated[str, Arg("reason, for the ledger", "TEXT", ("--why", "--reason"))]
Prefix: TypeAlias = Annotated[str, Arg("only facts below PATH", "PATH")]
Exact: TypeAlias = Annotated[bool, Arg("match letter by letter")]
LIMIT = 50
RENAMED = {"is_pinned": "pinned", "is_unchanged": "unchanged", "fact_id": "id"}
"""Fields that have another name in JSON."""


@contextmanager
def open_facts(asker: Asker, to_write: str = "") -> Iterator[Memory]:
    """Open the facts for a caller, and show the caller the files' notices."""
    author = Author(asker.agent or facts.PERSON, asker.session)
    with facts.open_memory(asker.config, author, to_write=to_write) as memory:
        asker.tell(memory.notices)
        yield memory


def describe(one: Any, *left_out: str) -> dict[str, Any]:  # noqa: ANN401 - any dataclass
    """Build the JSON of a record, without some fields."""
    items = asdict(one).items()
    return {RENAMED.get(name, name): value for name, value in items if name not in left_out}


def describe_fact(fact: Fact) -> dict[str, Any]:
    """Build the JSON of a fact."""
    return describe(fact, "seq", "sha256")


def remember_fact(
    asker: Asker,
    text: Annotated[str, Arg("- is stdin", "TEXT", reads_stdin=True)],
    *,
    branch: Branch = "",
    context: Annotated[str, Arg("store as /memory/NAME/KEY (default: general)", "NAME")]
    = DEFAULT_CONTEXT,
    key: Annotated[str, Arg("key to replace the fact by later; or a whole path", "KEY")] = "",
    title: Annotated[str, Arg("one-line title", "TEXT")] = "",
    why: Annotated[str, Arg("reason for the fact", "TEXT")] = "",
    ttl: Annotated[str, Arg("expire after TIME, such as 12h, 30d or 2w", "TIME")] = "",
    supersedes: Annotated[str, Arg("replace fact ID", "ID")] = "",
    source: Annotated[str, Arg("origin of the fact", "TEXT")] = "",
    confidence: Annotated[float | str, Arg("high|medium|low, or 0 to 1 (default: medium)", "HOW",
                                           ("--confidence", "--importance", "-i"))] = "medium",
    tags: Annotated[tuple[str, ...], Arg("add a tag; repeatable", "WORD", ("--tag", "-t"))] = (),
    category: Annotated[Category, Arg("kind of write (default: observe)")] = "observe",
    scope: Annotated[Scope, Arg("owner of the fact (default: project)")] = "project",
) -> Answer:  # fmt: skip
    """Write a fact, replacing the one with the same key."""
    config, on, is_path = asker.config, branch or MAIN, key.startswith("/")
    file, taken = None, 0
    if not asker.agent and category == "decide" and scope == "project":
        file = tasks.find_decisions_file(config.project)
    with open_facts(asker, "user" if scope == "user" else "project") as memory:
        draft = Draft(
            text,
            title=title,
            path=key if is_path else "",
            key="" if is_path else key,
            context=context or DEFAULT_CONTEXT,
            tags=tags,
            confidence=parse_confidence(confidence),
            category=category,
            why=why,
            source=source,
            ttl_s=parse_ttl(ttl),
            scope=scope,
            supersedes=supersedes,
        )
        if file is not None:
            taken = tasks.read_decisions(config, memory, file, on)
        written = memory.remember(draft, branch=on)
        if file is not None:
            tasks.write_decisions(memory, file, on)
    similar = [
        {"id": one.id, "path": one.path, "text": one.text, "overlap": overlap}
        for one, overlap in written.similar
    ]
    data = describe(written, "similar") | {"similar": similar}
    notices = [f"imported {inflect(taken, 'decision')} from {DECISIONS}"] * bool(taken)
    return Answer(data, fact_texts.written_text(written), notices)


def pin_fact(asker: Asker, fact: FactId, *, branch: Branch = "", why: Why = "") -> Answer:
    """Pin a fact: each recall begins with it."""
    with open_facts(asker) as memory:
        found = memory.pin(fact, branch=branch or MAIN, why=why)
    return _answer_changed(found, "is pinned: each recall begins with it", pinned=True)


def unpin_fact(asker: Asker, fact: FactId, *, branch: Branch = "", why: Why = "") -> Answer:
    """Unpin a fact."""
    with open_facts(asker) as memory:
        found = memory.unpin(fact, branch=branch or MAIN, why=why)
    return _answer_changed(found, "is no longer pinned", pinned=False)


def _answer_changed(fact: Fact, said: str, **more: bool) -> Answer:
    return Answer({"id": fact.id, "path": fact.path, **more}, f"{fact.id} {said}.")


def forget_fact(
    asker: Asker,
    fact: FactId,
    *,
    branch: Branch = "",
    why: Why = "",
    erase: Annotated[bool, Arg("also erase its text from the history")] = False,
) -> Answer:
    """Retract a fact; its history stays."""
    with open_facts(asker) as memory:
        if erase:
            erased = memory.erase(fact, why=why)
            text = f"Erased {', '.join(erased.ids)}: no copy of its text is stored here."
            return Answer(asdict(erased) | {"erased": True}, text)
        found = memory.forget(fact, branch=branch or MAIN, why=why)
    said = f"is forgotten at {found.path}; its history stays"
    return _answer_changed(found, said, erased=False)


def recall_facts(
    asker: Asker,
    query: Annotated[str, Arg(metavar="QUERY")] = "",
    *,
    branch: Branch = "",
    budget: Annotated[int, Arg("limit the answer to TOKENS (default: 1500)", "TOKENS")]
    = DEFAULT_BUDGET,
    exact: Exact = False,
    scope: Annotated[Scope | Literal[""], Arg("only facts of SCOPE", "SCOPE")] = "",
    form: Annotated[Literal["ctxone"] | Literal[""],
                    Arg("JSON with CTXone's names and numbers", flags=("--format",))] = "",
) -> Answer:  # fmt: skip
    """Show the pinned facts, and those that match a query, within a budget."""
    with open_facts(asker) as memory:
        asked = RecallRequest(
            query=query,
            budget=budget,
            branch=branch or MAIN,
            scopes=(scope,) if scope else SCOPES,
            is_exact=exact,
            session=memory.author.session,
        )
        found = memory.recall(asked)
    data = facts.ctxone_json(found) if form else recall_json(found) | {"text": found.text}

    def show() -> None:
        if form:
            print_json(data)
            return
        print_text(found.text.removesuffix("\n"))
        asker.tell([fact_texts.recalled_line(found)])

    return Answer(data, found.text, show=show, recalled_bytes=len(found.text.encode()))


def search_facts(
    asker: Asker,
    query: Annotated[str, Arg(metavar="QUERY")],
    *,
    branch: Branch = "",
    prefix: Prefix = "",
    exact: Exact = False,
    limit: Annotated[int, Arg("up to N facts (default: 50)", "N")] = 0,
) -> Answer:
    """List the facts that match a query, best first, without a budget."""
    if not query.strip():
        raise UsageError("the query is empty", "Give some words, or use list.")
    most = check_limit(limit) or LIMIT
    with open_facts(asker) as memory:
        found = memory.search(
            query, prefix=prefix, branch=branch or MAIN, is_exact=exact, limit=most
        )
    rows = [
        describe_fact(fact) | {"full_match": match.is_full_match, "matched": match.matched}
        for fact, match in found
    ]
    return Answer({"facts": rows}, fact_texts.list_text([fact for fact, _ in found]))


def list_facts(
    asker: Asker,
    *,
    branch: Branch = "",
    prefix: Prefix = "",
    limit: Annotated[int, Arg("up to N facts (default: 10000)", "N")] = 0,
    expired: Annotated[bool, Arg("expired facts")] = False,
) -> Answer:
    """List current facts, by path."""
    most = check_limit(limit) or LIMIT_MAX
    with open_facts(asker) as memory:
        found = memory.list(prefix=prefix, branch=branch or MAIN, is_expired=expired)
    data = {"facts": [describe_fact(one) for one in found[:most]], "total": len(found)}
    text = fact_texts.list_text(found[:most])
    if most < len(found):
        text += f"\nShowing {most} of {len(found)}. Choose with a prefix."
    return Answer(data, text)


def show_fact(asker: Asker, fact: FactId, *, branch: Branch = "") -> Answer:
    """Show one fact with all its fields."""
    with open_facts(asker) as memory:
        found = memory.find(fact, branch=branch or MAIN)
    return Answer(describe_fact(found), fact_texts.fact_text(found))


def show_stats(asker: Asker) -> Answer:
    """Show recalled tokens, and the tokens of all facts for comparison."""
    measured = facts.read_stats(asker.config)
    would = facts.counterfactual(measured["recalled_tokens"], measured["live_bytes"])
    data = {"measured": measured, "counterfactual": would}
    return Answer(data, fact_texts.stats_text(measured, would))
