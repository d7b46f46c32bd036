"""What the search has of facts, and the mark that tells news from what was read before."""

import time

import pytest

from base.secrets import find_secrets
from memory.facts import reading
from memory.facts.branching import create_branch
from memory.facts.erasing import erase
from memory.facts.model import Author, Draft
from memory.facts.store import FactStore
from memory.facts.writing import forget, pin, remember

ADA = Author("ada")
PATH = "/memory/general/a"


@pytest.fixture
def store(tmp_path):
    with FactStore(tmp_path / "facts.sqlite3", find_secrets=find_secrets) as opened:
        yield opened


def write(store, text, key="a", branch="main"):
    return remember(store, Draft(text, key=key), ADA, branch)


def read(store, *paths):
    with store.database.reading() as db:
        found = reading.read_versions(db, paths or [PATH], now=time.time())
    return [one.text for texts in found.values() for one in texts]


def mark(store):
    with store.database.reading() as db:
        return reading.read_mark(db)


def news(store, since, limit=10):
    with store.database.reading() as db:
        return reading.read_news(db, since, limit)


def test_the_texts_of_a_path_are_those_since_it_was_last_empty(store):
    write(store, "one")
    write(store, "two")
    pin(store, PATH, ADA)
    assert read(store) == ["one", "two"]
    forget(store, PATH, ADA)
    assert read(store) == []
    write(store, "three")
    assert read(store) == ["three"]


def test_branches_are_not_seen(store):
    write(store, "one")
    create_branch(store, "try", author=ADA)
    before = mark(store)
    write(store, "elsewhere", branch="try")
    assert read(store) == ["one"]
    assert news(store, before)[0] == ()
    assert news(store, before)[1] == mark(store)


def test_news_come_in_parts_and_end_at_the_mark(store):
    before = mark(store)
    for key in "abc":
        write(store, f"text {key}", key)
    first = news(store, before, 2)
    assert [path[-1] for path in first[0]] == ["a", "b"]
    assert first[2] == 1
    last = news(store, first[1], 2)
    assert [path[-1] for path in last[0]] == ["c"]
    assert (last[1], last[2]) == (mark(store), 0)


@pytest.mark.parametrize("since", ["", "x", "99 1.5 0", "1 0.5 0", "-1 0.0 0"])
def test_a_mark_of_another_history_has_everything_compared(store, since):
    write(store, "one")
    assert news(store, since) is None


def test_erasing_a_text_that_stands_no_more_is_noticed(store):
    old = write(store, "one")
    write(store, "two")
    before = mark(store)
    erase(store, old.id, ADA)
    assert mark(store) != before
    assert news(store, before) is None
    assert read(store) == ["two"]


@pytest.mark.parametrize(
    ("change", "is_less"),
    [
        (lambda store: write(store, "other", "b"), False),
        (lambda store: pin(store, PATH, ADA), False),
        (lambda store: write(store, "new"), True),
        (lambda store: forget(store, PATH, ADA), True),
        (lambda store: erase(store, PATH, ADA), True),
    ],
)
def test_it_is_told_whether_something_was_taken_away(store, change, is_less):
    write(store, "one")
    before = mark(store)
    change(store)
    with store.database.reading() as db:
        assert reading.is_less(db, before) is is_less
