"""Facts made from a session's summary: they can be recalled, and are deleted with the session.

The summary itself is at /sessions/ID/{summary,decisions,details}. It expires like a session's
facts, or with its session. Contacts, learnings and action items remain, as facts of the project, at
/memory/{contacts,learnings,actions}/ID/….
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from ctxmode.config.locations import Config
from ctxmode.errors import ContextModeError
from ctxmode.operations.facts import open_memory, translate_fact_errors
from ctxmode.operations.session_store import open_session_store
from memory.errors import BadInputError, MemoryRoomError
from memory.facts import (
    AGENT_BYTES_MAX,
    BODY_BYTES_MAX,
    MAIN,
    Author,
    Draft,
    Fact,
    FactStore,
    erase_authored,
    find_authored,
    forget,
    make_slug,
    read_facts,
    remember,
)
from memory.sessions import Session, SessionStore, Summary, list_with_subagents, read_summary
from memory.texts import cut_bytes

ITEMS_MAX = 200  # maximum number of facts from one list; further items are only in the summary
_NAME_BYTES = 120
_SLUG_BYTES = 60
_ROOTS = ("/sessions", "/memory/contacts", "/memory/learnings", "/memory/actions")


def keep_summary(
    config: Config, store: SessionStore, session: Session, summary: Summary
) -> tuple[str, ...]:
    """Store a session's summary, and replace the facts of an earlier one. Return notices for the
    user, such as facts that could not be stored.

    Sessions in the user's own store make no facts, because these would apply to all projects.
    """
    store.save_summary(session.id, summary)
    if Path(store.database.path) != config.sessions_file:
        return ()
    with store.database.reading() as db:
        kept = read_summary(db, session.id)  # redacted
    if kept is None:
        return ()
    try:
        agent, own = (cut_bytes(one, AGENT_BYTES_MAX) for one in (session.agent, session.id))
        author = Author(agent, own)
        with open_memory(config, author, to_write="project") as memory:
            assert memory.project is not None  # it was opened to write
            return _write_facts(memory.project, session, kept, author)
    except ContextModeError as error:
        return (f"stored no facts from the summary: {error}",)


def list_facts(config: Config, session_ids: Sequence[str]) -> list[str]:
    """List the paths of current and former facts that sessions and their subagents wrote."""
    with open_memory(config) as memory, translate_fact_errors():
        if memory.project is None:
            return []
        with memory.project.database.reading() as db:
            found = [
                find_authored(db, author, prefixes)[1]
                for author, prefixes in _name_authors(config, session_ids).items()
            ]
    return sorted({path for paths in found for path in paths})


def erase_facts(
    config: Config, session_ids: Sequence[str], *, is_scope_alone: bool = False
) -> list[str]:
    """Erase the facts that sessions and their subagents wrote, with their history; return the
    paths. Facts of other authors are kept. `is_scope_alone` keeps the project's contacts, learnings
    and action items."""
    with open_memory(config) as memory, translate_fact_errors():
        if memory.project is None:
            return []
        roots = _ROOTS[:1] if is_scope_alone else _ROOTS
        authors = _name_authors(config, session_ids, roots)
        why = "its session expired" if is_scope_alone else "its session was forgotten"
        return list(erase_authored(memory.project, authors, memory.author, why=why).paths)


def _name_authors(
    config: Config, session_ids: Sequence[str], roots: Sequence[str] = _ROOTS
) -> dict[str, Sequence[str]]:
    """Return the folders of the facts of sessions and their subagents, by author name."""
    found = list(session_ids)
    if config.sessions_file.exists():
        home = str(config.home)
        with (
            suppress(MemoryRoomError),
            open_session_store(config.sessions_file, "", home, read_only=True) as store,
            store.database.reading() as db,
        ):
            found = list_with_subagents(db, session_ids)
    return {cut_bytes(one, AGENT_BYTES_MAX): _list_prefixes(one, roots) for one in found}


def _write_facts(
    store: FactStore, session: Session, summary: Summary, author: Author
) -> tuple[str, ...]:
    drafts = dict(_make_drafts(session.id, summary))
    notices: list[str] = []
    standing = {fact.path: fact for fact in _read_own(store, session.id)}
    for path, draft in drafts.items():
        old = standing.get(path)
        if old and old.agent != author.agent:
            continue  # the user, or another agent, corrected it
        try:
            remember(store, draft, author)
        except BadInputError as error:
            notices.append(f"{path} was not stored as a fact: {error.message}")
    for path, old in standing.items():
        if path not in drafts and (old.agent, old.session) == (author.agent, author.session):
            forget(store, path, author, why="no longer in the summary")
    return tuple(notices)


def _make_drafts(session_id: str, summary: Summary) -> Iterator[tuple[str, Draft]]:
    roots = dict(zip(("session", "contacts", "learnings", "actions"), _ROOTS, strict=True))
    name = _name_folder(session_id)
    texts: Mapping[str, str] = {
        "summary": summary.summary,
        "decisions": "\n".join(f"- {one}" for one in summary.decisions),
        "details": summary.details,
    }
    for part, text in texts.items():
        if text.strip():
            path = f"{roots['session']}/{name}/{part}"
            body = cut_bytes(text, BODY_BYTES_MAX)
            yield path, Draft(body, path=path, scope="session", category="checkpoint")
    lists = {
        "contacts": summary.contacts,
        "learnings": summary.learnings,
        "actions": summary.action_items,
    }
    for kind, items in lists.items():
        used: set[str] = set()
        for item in dict.fromkeys(one for one in items[:ITEMS_MAX] if one.strip()):
            path = _find_free(f"{roots[kind]}/{name}/{_slug(item)}", used)
            body = cut_bytes(item, BODY_BYTES_MAX)
            yield path, Draft(body, path=path, category="checkpoint")


def _read_own(store: FactStore, session_id: str) -> list[Fact]:
    with store.database.reading() as db:
        return [
            fact
            for prefix in _list_prefixes(session_id)
            for fact in read_facts(db, MAIN, now=store.clock(), prefix=prefix)
        ]


def _list_prefixes(session_id: str, roots: Sequence[str] = _ROOTS) -> tuple[str, ...]:
    name = _name_folder(session_id)
    return tuple(f"{root}/{name}/" for root in roots)


def _name_folder(session_id: str) -> str:
    """Return the part of a path that names a session in its facts."""
    return cut_bytes(session_id.replace("/", "-"), _NAME_BYTES).rstrip("…")


def _slug(text: str) -> str:
    first = text.strip().partition("\n")[0]
    return cut_bytes(make_slug(first), _SLUG_BYTES).rstrip("…").strip("-") or "item"


def _find_free(path: str, used: set[str]) -> str:
    free, number = path, 1
    while free in used:
        number += 1
        free = f"{path}-{number}"
    used.add(free)
    return free
