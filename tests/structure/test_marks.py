"""The marks of tests are true to the tree."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.marks import (
    COLLECTED,
    KEPT,
    KINDS,
    MARKS,
    NOT_SMOKES,
    ONE_OF,
    REPETITIONS,
    SMOKE,
    SMOKES,
    UNIT,
    mark_of,
    may_be_fast,
    may_have,
)


def test_every_row_names_a_file_or_folder_that_is_there(root: Path):
    named = [one.partition("::")[0] for one in (*KINDS, *SMOKES)]
    assert [one for one in named if not any(root.glob(f"{one}*"))] == []


def test_every_row_of_a_test_begins_the_name_of_one(root: Path):
    rows = [one.partition("::") for one in (*KINDS, *NOT_SMOKES) if "::" in one]
    wrong = [
        (file, name) for file, _, name in rows if f"def {name}" not in (root / file).read_text()
    ]
    assert wrong == []


def test_every_repetition_is_a_test(root: Path):
    functions = {one.partition("[")[0].partition("::")[::2] for one in (*REPETITIONS, *KEPT)}
    texts = {file: (root / file).read_text() for file, _ in functions if (root / file).exists()}
    wrong = [one for one in functions if f"def {one[1]}(" not in texts.get(one[0], "")]
    assert wrong == []


def test_every_case_that_repeats_or_is_kept_is_collected(request: pytest.FixtureRequest):
    config = request.config
    option = config.getoption
    is_part = config.args_source is pytest.Config.ArgsSource.ARGS
    if is_part or option("--fast") or option("markexpr") or option("keyword"):
        pytest.skip("not applicable: a part of the tests is collected")
    collected = config.stash[COLLECTED]
    functions = {one.partition("[")[0] for one in collected}
    assert (REPETITIONS | KEPT) - collected - functions == set()


@pytest.mark.parametrize(
    ("test", "mark"),
    [
        ("tests/base/test_clock.py::test_x", "unit"),
        ("tests/kb/test_workers.py::test_x[1]", "sandbox"),
        ("tests/executor/containers/test_runs.py::test_x", "engine"),
        ("tests/executor/test_identities.py::test_x", "more"),
    ],
)
def test_the_longest_beginning_decides(test, mark):
    assert mark_of(test) == mark


def test_a_test_has_exactly_one_mark(request: pytest.FixtureRequest):
    for item in request.session.items:
        marks = [mark.name for mark in item.iter_markers() if mark.name in MARKS.keys() - {"smoke"}]
        assert len(marks) == 1, item.nodeid


def test_fast_reads_every_file_of_which_it_runs_a_test(request: pytest.FixtureRequest):
    fast = [
        item.nodeid.partition("::")[0]
        for item in request.session.items
        if item.get_closest_marker(UNIT) or item.get_closest_marker(SMOKE)
    ]
    assert [file for file in dict.fromkeys(fast) if not may_be_fast(file)] == []


def test_where_one_mark_is_asked_for_every_file_that_has_it_is_read(request: pytest.FixtureRequest):
    had = {
        (item.nodeid.partition("::")[0], mark)
        for item in request.session.items
        for mark in ONE_OF
        if item.get_closest_marker(mark)
    }
    assert [(file, mark) for file, mark in had if not may_have(file, mark)] == []
    assert not may_have("tests/base/test_clock.py", "more")
