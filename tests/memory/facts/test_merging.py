"""A merge takes what one side changed; a conflict writes nothing (X7)."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.errors import BadInputError
from memory.facts.branching import create_branch, drop_branch, list_branches, merge_branch
from memory.facts.model import UnknownBranchError
from tests.memory.facts.branch_makers import (
    ME,
    OTHER,
    changes,
    fact_at,
    live_and_replay,
    open_facts,
    pin,
    put,
    texts,
)

P = "/memory/x/p"
PATHS = [f"/memory/x/{name}" for name in "abcd"]


@pytest.fixture
def store(tmp_path):
    with open_facts(tmp_path / "f.sqlite3") as opened:
        yield opened


def states(store):
    return {one.name: one.state for one in list_branches(store)}


CASES = {  # base, ours, theirs, and what the merge gives; "!" is a conflict
    "theirs added": (None, None, "t", "t"),
    "theirs changed": ("b", "b", "t", "t"),
    "theirs retracted": ("b", "b", None, None),
    "ours added": (None, "o", None, "o"),
    "ours changed": ("b", "o", "b", "o"),
    "ours retracted": ("b", None, "b", None),
    "both alike": ("b", "n", "n", "n"),
    "both added alike": (None, "n", "n", "n"),
    "both retracted": ("b", None, None, None),
    "both changed": ("b", "o", "t", "!"),
    "both added": (None, "o", "t", "!"),
    "ours retracted, theirs changed": ("b", None, "t", "!"),
    "ours changed, theirs retracted": ("b", "o", None, "!"),
}


def make_case(store, case):
    base, ours, theirs, _ = CASES[case]
    put(store, "/memory/x/always", "here")
    if base:
        put(store, P, base)
    create_branch(store, "b", author=ME)
    for branch, text in (("main", ours), ("b", theirs)):
        if text != base:
            put(store, P, text, branch)


@pytest.mark.parametrize("case", CASES)
def test_x7_a_path_is_merged_three_way(store, case):
    make_case(store, case)
    *values, expected = CASES[case]
    before = changes(store)
    found = merge_branch(store, "b", author=OTHER)
    if expected == "!":
        (conflict,) = found[1]
        sides = [conflict[1][side] for side in ("base", "ours", "theirs")]
        assert [one and one.text for one in sides] == values
        assert (conflict[0], found[0]) == (P, ())
        assert (changes(store), states(store)["b"]) == (before, "open")
    else:
        assert (texts(store).get(P), found[1]) == (expected, ())
        assert found[0] == ((P,) if expected != values[1] else ())
        assert states(store)["b"] == "merged"
        live, replay = live_and_replay(store)
        assert live == replay


@pytest.mark.parametrize("case", [name for name, values in CASES.items() if values[3] == "!"])
@pytest.mark.parametrize("take", [{"*": "ours"}, {"*": "theirs"}, {P: "ours"}, {P: "theirs"}])
def test_x7_a_conflict_is_resolved_by_the_side_that_is_named(store, case, take):
    make_case(store, case)
    _, ours, theirs, _ = CASES[case]
    assert merge_branch(store, "b", take=take, author=OTHER)[1] == ()
    assert texts(store).get(P) == (ours if "ours" in take.values() else theirs)
    assert states(store)["b"] == "merged"


def test_a_choice_for_one_path_leaves_the_conflicts_of_others(store):
    create_branch(store, "b", author=ME)
    for path in PATHS[:2]:
        put(store, path, "ours")
        put(store, path, "theirs", "b")
    found = merge_branch(store, "b", take={PATHS[0]: "theirs"}, author=ME)
    assert [path for path, _ in found[1]] == [PATHS[1]]
    assert set(texts(store).values()) == {"ours"}
    merge_branch(store, "b", take={PATHS[0]: "theirs", "*": "ours"}, author=ME)
    assert [texts(store)[path] for path in PATHS[:2]] == ["theirs", "ours"]


@pytest.mark.parametrize("take", [{"*": "mine"}, {P: ""}, {P: "*"}, {"/memory/x/q": "ours"}])
def test_a_choice_that_is_none_is_refused_and_nothing_is_written(store, take):
    make_case(store, "both changed")
    before = changes(store)
    with pytest.raises(BadInputError):
        merge_branch(store, "b", take=take, author=ME)
    assert (changes(store), states(store)["b"]) == (before, "open")


def test_x7_the_ledger_keeps_who_wrote_it_first_through_two_merges(store):
    create_branch(store, "one", author=ME)
    create_branch(store, "two", parent="one", author=ME)
    put(store, P, "found", "two", author=OTHER, confidence=0.4, expires_at=9e9, why="seen")
    merge_branch(store, "two", into="one", author=ME)
    merge_branch(store, "one", author=ME)
    fact = fact_at(store, P)
    assert (fact.source, fact.agent, fact.category) == ("codex:s2", ME.agent, "merge")
    assert (fact.confidence, fact.expires_at, fact.why) == (0.4, 9e9, "seen")
    assert fact.id == fact_at(store, P, "two").id


def test_x7_a_pin_alone_is_a_change(store):
    put(store, P, "text")
    create_branch(store, "b", author=ME)
    pin(store, P, "b")
    assert merge_branch(store, "b", author=ME)[0] == (P,)
    assert fact_at(store, P).is_pinned


def test_a_branch_of_a_merged_branch_goes_on_from_what_was_merged(store):
    put(store, P, "base")
    create_branch(store, "one", author=ME)
    put(store, P, "one", "one")
    create_branch(store, "two", parent="one", author=ME)
    put(store, P, "two", "two")
    merge_branch(store, "one", author=ME)
    assert merge_branch(store, "two", author=ME)[0] == (P,)
    assert texts(store) == {P: "two"}


def test_a_branch_is_brought_up_to_date_again_and_again(store):
    put(store, P, "base")
    create_branch(store, "b", author=ME)
    for text in ("first", "second"):
        put(store, P, text)
        assert merge_branch(store, "main", into="b", author=ME)[0] == (P,)
        assert texts(store, "b") == {P: text}
    assert states(store) == {"main": "open", "b": "open"}
    put(store, P, "own", "b")
    again = merge_branch(store, "main", into="b", author=ME)
    assert (again[0], again[1]) == ((), ())
    assert merge_branch(store, "b", author=ME)[0] == (P,)
    assert texts(store) == {P: "own"}


@pytest.mark.parametrize(
    ("branch", "into"), [("b", "nowhere"), ("nowhere", "main"), ("gone", "main"), ("b", "gone")]
)
def test_a_branch_that_is_unknown_or_closed_is_refused(store, branch, into):
    for name in ("b", "gone"):
        create_branch(store, name, author=ME)
    drop_branch(store, "gone", ME)
    with pytest.raises(UnknownBranchError):
        merge_branch(store, branch, into=into, author=ME)


def test_a_branch_is_not_merged_into_itself(store):
    with pytest.raises(BadInputError):
        merge_branch(store, "main", into="main", author=ME)


WRITES = st.lists(
    st.tuples(
        st.sampled_from(["main", "b", "c"]),
        st.sampled_from(PATHS),
        st.sampled_from(["1", "2", None]),
    ),
    max_size=12,
)


@given(base=st.dictionaries(st.sampled_from(PATHS), st.sampled_from("123")), writes=WRITES)
def test_x7_a_merge_is_the_union_or_writes_nothing(base, writes):
    with (
        tempfile.TemporaryDirectory() as folder,
        open_facts(Path(folder) / "f.sqlite3") as store,
    ):
        for path, text in base.items():
            put(store, path, text)
        for name in ("b", "c"):
            create_branch(store, name, author=ME)
        now = {name: dict(base) for name in ("main", "b", "c")}
        for branch, path, text in writes:
            if now[branch].get(path) != text:
                put(store, path, text, branch)
                now[branch][path] = text
        merged = merge_and_compare(store, base, now, "b")
        merge_and_compare(store, base, now, "c")
        if merged:
            before = changes(store)
            with pytest.raises(UnknownBranchError):
                merge_branch(store, "b", author=ME)
            assert changes(store) == before


def merge_and_compare(store, base, now, branch):
    """Merge into main, and compare with what the rules give; tell whether it was merged."""
    ours, theirs, before = now["main"], now[branch], changes(store)
    clashes = {
        path
        for path in PATHS
        if len({base.get(path), ours.get(path), theirs.get(path)}) == 3
        or (
            ours.get(path) != theirs.get(path)
            and base.get(path) not in (ours.get(path), theirs.get(path))
        )
    }
    found = merge_branch(store, branch, author=ME)
    assert {path for path, _ in found[1]} == clashes
    if clashes:
        assert changes(store) == before
        return False
    for path in PATHS:
        if theirs.get(path) != base.get(path):
            ours[path] = theirs.get(path)
    assert texts(store) == {path: text for path, text in ours.items() if text}
    assert texts(store, branch) == {path: text for path, text in theirs.items() if text}
    live, replay = live_and_replay(store)
    assert live == replay
    return True
