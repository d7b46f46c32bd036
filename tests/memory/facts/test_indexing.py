"""A fact is found by its day, and by the words of its neighbours as long as they stand."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from base.stores.sqlite_files import migrate
from memory.facts.branching import create_branch
from memory.facts.erasing import erase
from memory.facts.model import MAIN, Author
from memory.facts.recalling import search
from memory.facts.restoring import check_store, repair_store
from memory.facts.schema import STEPS
from memory.facts.writing import forget, pin, remember
from tests.memory.facts.stores import ADA, PERSON, Clock, draft, open_facts


@pytest.fixture
def store(tmp_path):
    with open_facts(tmp_path, Clock()) as opened:
        yield opened


def write_five(store, author=ADA, branch=MAIN):
    for n, word in enumerate(["zero", "one", "Zyzzogeton", "three", "four", "five"]):
        remember(store, draft(f"fact {word}", key=f"k{n}"), author, branch)


def find(store, query, branch=MAIN):
    return {fact.path.rsplit("/", 1)[1] for fact, _ in search([store], query, branch=branch)}


@pytest.mark.parametrize("branch", [MAIN, "side"])
def test_two_neighbours_on_each_side_are_found_by_the_words_of_a_fact(store, branch):
    create_branch(store, "side", author=ADA)
    write_five(store, branch=branch)
    found = search([store], "zyzzogeton", branch=branch)
    assert found[0][0].path.endswith("/k2")
    assert found[0][1].matched == ("zyzzogeton",)
    assert {fact.path[-2:] for fact, _ in found} == {"k0", "k1", "k2", "k3", "k4"}
    assert found[1][1].matched == ()


@pytest.mark.parametrize(
    "other", [Author("claude_code", "s2"), Author("codex", "s1"), Author("user", "")]
)
def test_facts_of_others_and_without_a_session_are_no_neighbours(store, other):
    first = other if not other.session else ADA
    remember(store, draft("fact Zyzzogeton", key="a"), first)
    remember(store, draft("another", key="b"), other)
    assert find(store, "zyzzogeton") == {"a"}


@pytest.mark.parametrize("branch", [MAIN, "side"])
def test_a_fact_is_found_by_the_day_on_which_it_was_written(store, branch):
    create_branch(store, "side", author=ADA)
    remember(store, draft("deployed", key="a"), ADA, branch)
    store.clock.now += 86_400 * 40
    remember(store, draft("deployed again", key="b"), Author("codex", "s9"), branch)
    if branch == MAIN:
        pin(store, "a", ADA)  # which is no writing
    assert find(store, "28 May", branch) == {"a"}
    assert find(store, "July", branch) == {"b"}


@pytest.mark.parametrize("change", ["forget", "replace", "erase"])
def test_words_that_are_gone_leave_the_neighbours_too(tmp_path, store, change):
    write_five(store)
    assert b"zyzzoget" in b"".join(p.read_bytes().lower() for p in tmp_path.glob("memory.sqlite3*"))
    if change == "forget":
        forget(store, "k2", ADA)
    elif change == "replace":
        remember(store, draft("something else", key="k2"), ADA)
    else:
        erase(store, "k2", PERSON)
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert not [path for path in files if b"zyzzoget" in path.read_bytes().lower()]
    assert find(store, "zyzzogeton") == set()
    assert check_store(store) == ()
    near = "SELECT near FROM live_fts WHERE path = '/memory/general/k1'"
    with store.database.reading() as db:
        (words,) = db.execute(near).fetchone()
    own = ["fact", "zero"]
    assert words.split() == [*own, "fact", "three", "fact", "four"]


def test_a_neighbours_words_that_differ_are_found_and_put_right(store):
    write_five(store)
    with store.database.writing() as db:
        db.execute("UPDATE live_fts SET near = '' WHERE rowid = 2")
    assert len(check_store(store)) == 1
    assert repair_store(store) == ()
    assert check_store(store) == ()


def test_a_file_of_the_first_schema_gets_days_and_neighbours(tmp_path):
    path = tmp_path / "memory.sqlite3"
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        migrate(db, STEPS[:1])
        for n, text in enumerate(["fact one", "fact Zyzzogeton", "fact three"], 1):
            db.execute(
                "INSERT INTO fact VALUES (?, ?, '', ?, '[]', 8, ?)",
                (n, f"mem-aaaaaaa{n}", text, bytes([n])),
            )
            for operation in ("add", "pin"):
                db.execute(
                    "INSERT INTO change (branch, path, fact_id, operation, at, agent, session,"
                    " category, confidence, scope)"
                    " VALUES ('main', ?, ?, ?, 1780000000, ?, 's', 'observe', .7, 'project')",
                    (f"/memory/general/k{n}", n, operation, "ada" if operation == "add" else "bob"),
                )
    with open_facts(tmp_path) as store:
        assert check_store(store) == ()
        assert find(store, "zyzzogeton") == {"k1", "k2", "k3"}
        assert find(store, "May 2026") == {"k1", "k2", "k3"}
