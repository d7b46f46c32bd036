"""A session's summary as facts: what it found is recalled, and goes when the session is forgotten.

The summary itself stands at /sessions/ID/{summary,decisions,details}: it expires as a session's
facts do, and goes when its session is let go. Contacts, learnings and action items stay, as the
project's, at /memory/{contacts,learnings,actions}/ID/….
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

ITEMS_MAX = 200
"""Of longer lists the rest stays in the summary alone."""

_NAME_BYTES = 120
_SLUG_BYTES = 60
_ROOTS = ("/sessions", "/memory/contacts", "/memory/learnings", "/memory/actions")


def keep_summary(
    config: Config, store: SessionStore, session: Session, summary: Summary
) -> tuple[str, ...]:
    """Keep a session's summary, and make facts of it in place of those of an earlier one. Return
    what a person should know, such as that facts could not be kept.

    Those of a session in the user's own store would hold in all projects, so there are none.
    """
    store.save_summary(session.id, summary)
    if Path(store.database.path) != config.sessions_file:
        return ()
    with store.database.reading() as db:
        kept = read_summary(db, session.id)  # as the gate left it
    if kept is None:
        return ()
    try:
        agent, own = (cut_bytes(one, AGENT_BYTES_MAX) for one in (session.agent, session.id))
        author = Author(agent, own)
        with open_memory(config, author, to_write="project") as memory:
            assert memory.project is not None  # it was opened to write
            return _write_facts(memory.project, session, kept, author)
    except ContextModeError as error:
        return (f"no facts were made of the summary: {error}",)


def list_facts(config: Config, session_ids: Sequence[str]) -> list[str]:
    """List the paths at which sessions and their subagents wrote what stands, or stood."""
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
    """Erase what sessions and their subagents wrote, the history included; return its paths. What
    others wrote there stays. `is_scope_alone` leaves what is the project's: contacts, learnings,
    action items."""
    with open_memory(config) as memory, translate_fact_errors():
        if memory.project is None:
            return []
        roots = _ROOTS[:1] if is_scope_alone else _ROOTS
        authors = _name_authors(config, session_ids, roots)
        why = "its session is gone" if is_scope_alone else "its session was forgotten"
        return list(erase_authored(memory.project, authors, memory.author, why=why).paths)


def _name_authors(
    config: Config, session_ids: Sequence[str], roots: Sequence[str] = _ROOTS
) -> dict[str, Sequence[str]]:
    """Return the folders of each session's facts, and of its subagents', by the author's name."""
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
            continue  # a person, or another agent, corrected it
        try:
            remember(store, draft, author)
        except BadInputError as error:
            notices.append(f"{path} was not made a fact: {error.message}")
    for path, old in standing.items():
        if path not in drafts and (old.agent, old.session) == (author.agent, author.session):
            forget(store, path, author, why="the summary has it no more")
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
    """Return the part of a path that names a session, as facts of sessions have it."""
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
