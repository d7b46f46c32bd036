"""A fact whose time is over is in no list, and a purge retracts it."""

from __future__ import annotations

from memory.facts.reading import read_facts
from memory.facts.restoring import check_store
from memory.facts.writing import purge_expired, remember
from tests.memory.facts.stores import ADA, PERSON, draft, ledger, open_facts, standing


def read_expired(store):
    with store.database.reading() as db:
        return [fact.text for fact in read_facts(db, now=store.clock(), expired=True)]


def test_expired_facts_are_shown_apart_and_purged(tmp_path):
    with open_facts(tmp_path) as store:
        remember(store, draft("for a minute", ttl_s=60), ADA)
        remember(store, draft("for good"), ADA)
        store.clock.now += 59
        assert (purge_expired(store, PERSON), read_expired(store)) == ((), [])
        store.clock.now += 1
        assert [fact.text for fact in standing(store)] == ["for good"]
        assert read_expired(store) == ["for a minute"]
        with store.database.writing() as db:
            db.execute("INSERT INTO branch VALUES ('try', 'main', 2, 'open', 0, 'user')")
            db.execute("INSERT INTO branch VALUES ('old', 'main', 2, 'merged', 0, 'user')")
        gone = purge_expired(store, PERSON)
        assert [(fact.text, fact.branch) for fact in gone] == [
            ("for a minute", "main"),
            ("for a minute", "try"),
        ]
        assert read_expired(store) == []
        assert [c.operation for c in ledger(store)] == ["add", "add", "expire", "expire"]
        assert purge_expired(store, PERSON) == ()
        assert check_store(store) == ()
