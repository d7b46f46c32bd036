"""Branches copy nothing, and one that is merged or dropped takes no more writes (X7)."""

from __future__ import annotations

import pytest

from memory.errors import BadInputError
from memory.facts.branching import create_branch, drop_branch, list_branches
from memory.facts.model import UnknownBranchError
from memory.facts.reading import require_branch
from tests.memory.facts.branch_makers import ME, changes, open_facts, put, texts

A, B = "/memory/x/a", "/memory/x/b"


@pytest.fixture
def store(tmp_path):
    with open_facts(tmp_path / "f.sqlite3") as opened:
        yield opened


def test_x7_a_branch_copies_nothing_and_sees_its_parent_as_it_was(store):
    put(store, A, "one")
    before = changes(store)
    made = create_branch(store, "try/redis", author=ME)
    assert changes(store) == before
    assert (made.parent, made.fork_seq, made.state, made.agent) == ("main", 1, "open", ME.agent)
    put(store, A, "two")
    put(store, B, "own", "try/redis")
    assert texts(store, "try/redis") == {A: "one", B: "own"}
    assert texts(store) == {A: "two"}


def test_x7_a_branch_of_a_branch_sees_both(store):
    put(store, A, "main")
    create_branch(store, "one", author=ME)
    put(store, B, "one", "one")
    create_branch(store, "two", parent="one", author=ME)
    put(store, B, "later", "one")
    assert texts(store, "two") == {A: "main", B: "one"}
    assert [(one.name, one.parent, one.changes) for one in list_branches(store)] == [
        ("main", "", 1),
        ("one", "main", 2),
        ("two", "one", 0),
    ]


BAD_NAMES = [
    "", " ", ".", "..", "-x", "a b", "a/../b", "a//b", "/a", "a/", "a\0", "a\n", "\ud800", "ä",
    "x" * 101, "a..b", "a/.", "main",
]  # fmt: skip


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_bad_name_is_refused_and_nothing_is_written(store, name):
    with pytest.raises(BadInputError):
        create_branch(store, name, author=ME)
    assert [one.name for one in list_branches(store)] == ["main"]


def test_a_dropped_branch_takes_no_more_writes_and_its_name_stays_taken(store):
    create_branch(store, "x", author=ME)
    put(store, A, "kept", "x")
    drop_branch(store, "x", ME)
    with store.database.reading() as db, pytest.raises(UnknownBranchError, match="dropped"):
        require_branch(db, "x", writes=True)
    assert texts(store, "x") == {A: "kept"}
    with pytest.raises(UnknownBranchError):
        drop_branch(store, "x", ME)
    with pytest.raises(UnknownBranchError):
        create_branch(store, "y", parent="x", author=ME)
    with pytest.raises(BadInputError):
        create_branch(store, "x", author=ME)


def test_main_is_not_dropped_and_unknown_ones_are_named(store):
    with pytest.raises(BadInputError):
        drop_branch(store, "main", ME)
    with pytest.raises(UnknownBranchError, match="nowhere"):
        drop_branch(store, "nowhere", ME)
    with pytest.raises(UnknownBranchError, match="nowhere"):
        create_branch(store, "x", parent="nowhere", author=ME)
