"""Comparing branches names each path that differs, with both facts (X7)."""

from __future__ import annotations

import pytest

from memory.facts.branching import compare_branches, create_branch
from memory.facts.model import UnknownBranchError
from tests.memory.facts.branch_makers import ME, open_facts, pin, put


@pytest.fixture
def store(tmp_path):
    with open_facts(tmp_path / "f.sqlite3") as opened:
        yield opened


def test_x7_each_path_that_differs_is_named_with_both_facts(store):
    for name in ("same", "gone", "changed", "pinned"):
        put(store, f"/memory/x/{name}", name)
    create_branch(store, "b", author=ME)
    put(store, "/memory/x/gone", None, "b")
    put(store, "/memory/x/changed", "other", "b")
    put(store, "/memory/x/new", "new", "b")
    put(store, "/memory/x/same", "same", "b")
    put(store, "/memory/x/over", "over", "b", expires_at=1.0)
    pin(store, "/memory/x/pinned", "b")
    found = compare_branches(store, "main", "b")
    assert [
        (one.path[10:], one.status, one.ours and one.ours.text, one.theirs and one.theirs.text)
        for one in found
    ] == [
        ("changed", "changed", "changed", "other"),
        ("gone", "removed", "gone", None),
        ("new", "added", None, "new"),
        ("pinned", "changed", "pinned", "pinned"),
    ]
    assert [found[-1].ours.is_pinned, found[-1].theirs.is_pinned] == [False, True]
    back = {"added": "removed", "removed": "added", "changed": "changed"}
    turned = [(one.path, back[one.status]) for one in compare_branches(store, "b", "main")]
    assert turned == [(one.path, one.status) for one in found]
    assert compare_branches(store, "b", "b") == ()


def test_an_unknown_branch_is_named(store):
    with pytest.raises(UnknownBranchError, match="nowhere"):
        compare_branches(store, "main", "nowhere")
