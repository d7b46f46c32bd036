"""Comparing branches names each path that differs, with both facts (X7)."""

from __future__ import annotations

import pytest

from memory.facts.branching import compare_branches, create_branch, find_status
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
        (path[10:], find_status(old, new), old and old.text, new and new.text)
        for path, old, new in found
    ] == [
        ("changed", "changed", "changed", "other"),
        ("gone", "removed", "gone", None),
        ("new", "added", None, "new"),
        ("pinned", "changed", "pinned", "pinned"),
    ]
    assert [one.is_pinned for one in found[-1][1:]] == [False, True]
    back = {"added": "removed", "removed": "added", "changed": "changed"}
    turned = compare_branches(store, "b", "main")
    assert [(path, back[find_status(*facts)]) for path, *facts in turned] == [
        (path, find_status(*facts)) for path, *facts in found
    ]
    assert compare_branches(store, "b", "b") == ()


def test_an_unknown_branch_is_named(store):
    with pytest.raises(UnknownBranchError, match="nowhere"):
        compare_branches(store, "main", "nowhere")
