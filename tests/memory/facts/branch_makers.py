"""Facts that tests of branches write, straight into the ledger."""

from __future__ import annotations

import itertools

from base.secrets import find_secrets
from memory.facts.ledger import add_fact, append
from memory.facts.model import MAIN, Author, Change
from memory.facts.reading import find_at, read_changes, read_facts
from memory.facts.store import FactStore

ME = Author("claude_code", "s1")
OTHER = Author("codex", "s2")


def open_facts(path, **options):
    ticks = itertools.count(1_000_000)
    return FactStore(path, find_secrets=find_secrets, clock=lambda: float(next(ticks)), **options)


def put(store, path, text, branch=MAIN, *, author=ME, **fields):
    """Write a text at a path of a branch; None retracts what stands there."""
    with store.database.writing() as db:
        old = find_at(db, branch, path)
        row = None if text is None else add_fact(db, fields.pop("title", ""), text, ())
        append(
            db,
            Change(
                **{
                    "branch": branch,
                    "path": path,
                    "fact_id": row or "",
                    "operation": "retract" if row is None else "replace" if old else "add",
                    "at": store.clock(),
                    "agent": author.agent,
                    "session": author.session,
                    "scope": "project",
                    **fields,
                }
            ),
        )


def pin(store, path, branch=MAIN, *, pinned=True):
    """Pin what stands at a path."""
    with store.database.writing() as db:
        fact = find_at(db, branch, path)
        append(
            db,
            Change(
                branch,
                path,
                fact.id,
                "pin" if pinned else "unpin",
                store.clock(),
                *(ME.agent, ME.session, fact.scope),
                is_pinned=pinned,
            ),
        )


def texts(store, branch=MAIN):
    """What stands at each path of a branch."""
    with store.database.reading() as db:
        return {fact.path: fact.text for fact in read_facts(db, branch, now=store.clock())}


def fact_at(store, path, branch=MAIN):
    with store.database.reading() as db:
        return find_at(db, branch, path)


def changes(store, branch=""):
    with store.database.reading() as db:
        return read_changes(db, branch)


def live_and_replay(store):
    """What `live` has, and what a replay of main's ledger gives."""
    with store.database.reading() as db:
        live = db.execute("SELECT path, fact_id, seq, pinned, scope FROM live ORDER BY path")
        replay = db.execute(
            "SELECT path, fact_id, seq, pinned, scope FROM change WHERE seq IN (SELECT max(seq)"
            " FROM change WHERE branch = 'main' GROUP BY path) AND fact_id IS NOT NULL"
            " ORDER BY path"
        )
        return live.fetchall(), replay.fetchall()
