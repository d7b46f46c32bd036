"""The marks of tests are true to the tree."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.marks import KINDS, MARKS, SMOKES, mark_of


def test_every_row_names_a_file_or_folder_that_is_there(root: Path):
    named = [one.partition("::")[0] for one in (*KINDS, *SMOKES)]
    assert [one for one in named if not any(root.glob(f"{one}*"))] == []


@pytest.mark.parametrize(
    ("test", "mark"),
    [
        ("tests/kb/test_search.py::test_x", "unit"),
        ("tests/kb/test_workers.py::test_x[1]", "sandbox"),
        ("tests/executor/containers/test_runs.py::test_x", "engine"),
        ("tests/executor/test_identities.py::test_x", "slow"),
    ],
)
def test_the_longest_beginning_decides(test, mark):
    assert mark_of(test) == mark


def test_a_test_has_exactly_one_mark(request: pytest.FixtureRequest):
    for item in request.session.items:
        marks = [mark.name for mark in item.iter_markers() if mark.name in MARKS.keys() - {"smoke"}]
        assert len(marks) == 1, item.nodeid
