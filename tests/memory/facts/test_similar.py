"""A written fact names those that say nearly the same, and how one is replaced."""

from __future__ import annotations

import pytest

from memory.facts.writing import SIMILAR_MAX, forget, remember
from tests.memory.facts.stores import ADA, draft, ledger, open_facts, standing

OLD = "The deploy script runs on Fridays at noon"


@pytest.fixture
def store(tmp_path):
    with open_facts(tmp_path) as opened:
        yield opened


@pytest.mark.parametrize(
    ("old", "new", "is_similar"),
    [
        (OLD, "Deploy scripts run on Friday, at noon!", True),
        (OLD, "deploy script runs Tuesdays at noon", True),
        (OLD, "We like pancakes", False),
        (OLD, "The deploy script needs a token, a VPN, patience, coffee and a colleague", False),
        ("Café zu", "cafe zu", True),
        ("データベースを毎晩保存する", "データベースを毎朝保存する", True),
        ("データベースを毎晩保存する", "朝食は七時から", False),
        ("to be or not to be", "to be or not", True),
        ("!!!", "???", False),
        ('a "quoted" OR NEAR(', 'the "quoted" NEAR', True),
    ],
)
def test_facts_are_similar_by_their_stemmed_words(store, old, new, is_similar):
    first = remember(store, draft(old), ADA)
    written = remember(store, draft(new), ADA)
    assert [one.id for one, _ in written.similar] == ([first.id] if is_similar else [])
    assert len(standing(store)) == 2  # nothing is superseded by similarity


def test_at_most_five_are_named_the_nearest_first(store):
    for n in range(9):
        remember(store, draft(f"port number of service alpha beta gamma {'x ' * 0}{n}"), ADA)
    written = remember(store, draft("port number of service alpha beta gamma 3 today"), ADA)
    overlaps = [overlap for _, overlap in written.similar]
    assert len(overlaps) == SIMILAR_MAX
    assert overlaps == sorted(overlaps, reverse=True)
    assert written.similar[0][0].text.endswith("3")


def test_what_stands_no_more_is_not_named(store):
    remember(store, draft(OLD, key="a"), ADA)
    forget(store, "a", ADA)
    remember(store, draft(OLD, key="b", ttl_s=10), ADA)
    store.clock.now += 10
    assert remember(store, draft(OLD, key="c"), ADA).similar == ()


def test_a_branch_is_compared_with_what_it_sees(store):
    remember(store, draft(OLD, key="a"), ADA)
    with store.database.writing() as db:
        db.execute("INSERT INTO branch VALUES ('try', 'main', 1, 'open', 0, 'user')")
    remember(store, draft("Rollbacks take two minutes or three", key="b"), ADA, "try")
    found = remember(store, draft("Rollbacks take two minutes", key="c"), ADA, "try").similar
    assert [one.path for one, _ in found] == ["/memory/general/b"]
    found = remember(store, draft(OLD + " sharp", key="d"), ADA, "try").similar
    assert [one.path for one, _ in found] == ["/memory/general/a"]
    assert remember(store, draft("Rollbacks take two minutes", key="e"), ADA).similar == ()


def test_what_is_told_replaces_the_old_one_in_one_call(store):
    first = remember(store, draft(OLD), ADA)
    text = "The deploy script runs on Tuesdays at noon"
    written = remember(store, draft(text), ADA)
    assert [one.id for one, _ in written.similar] == [first.id]
    again = remember(store, draft(text, supersedes=first.id), ADA)
    assert (again.id, again.replaced) == (written.id, first.id)
    assert [fact.text for fact in standing(store)] == [text]
    assert again.similar == ()
    assert ledger(store)[-1].operation == "replace"
