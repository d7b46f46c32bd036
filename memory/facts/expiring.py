"""What becomes of facts whose time is over: no recall has them, and a purge retracts them."""

from __future__ import annotations

from memory.facts.drafts import clean_author
from memory.facts.model import Author, Fact
from memory.facts.reading import read_facts
from memory.facts.store import FactStore
from memory.facts.writing import Change, append_change


def purge_expired(store: FactStore, author: Author) -> tuple[Fact, ...]:
    """Retract the expired facts of all open branches, and return them. Their history stays."""
    now, writer = store.clock(), clean_author(store.gate, author)
    gone: list[Fact] = []
    with store.database.writing() as db:
        branches = db.execute("SELECT name FROM branch WHERE state = 'open' ORDER BY name")
        for (branch,) in branches.fetchall():
            change = Change(branch, "expire", writer, now, "its time is over")
            for fact in list(read_facts(db, branch, now=now, expired=True)):
                append_change(db, fact, change, fact_id=None)
                gone.append(fact)
    return tuple(gone)
