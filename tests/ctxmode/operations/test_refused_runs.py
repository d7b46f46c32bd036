"""What the sandbox refused is kept beside the runs: bounded, whole or not, without secrets."""

import sqlite3
from contextlib import closing

import pytest

from ctxmode.operations import usage
from ctxmode.operations.usage import (
    Recorder,
    RunRecord,
    count_by_kind,
    count_refused,
    is_known,
    list_refused,
    record,
    summarize,
)
from executor.model import Refusal

RUN = RunRecord(
    5.0, "python", "cpython", "analyze", "A", "nonzero_exit", 1, None, "run", "allow", 0.1, 0.1,
    9, 1, 2, 0, 0, 0, 0, None, "out-1",
)  # fmt: skip
NAME = Refusal("network", "example.com", "the cell's name server", "exact", 2, "grant it")
CALL = Refusal("call", "mount", "seccomp", "exact", 1, "nothing grants it")
SECRET = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6"


@pytest.fixture
def file(tmp_path):
    return tmp_path / "usage.sqlite3"


def read(file, look):
    with closing(sqlite3.connect(file)) as db:
        return look(db)


def test_refusals_are_listed_by_run_the_latest_first(file):
    with closing(Recorder(file)) as recorder:
        assert recorder.add(RUN, (NAME, CALL))
        assert recorder.add(RUN)
        assert recorder.add(RUN._replace(output_id=None, status="ok"), (NAME,))
    found = read(file, list_refused)
    assert [(number, row["status"], refusals) for number, row, refusals in found] == [
        (3, "ok", (NAME,)),
        (1, "nonzero_exit", (NAME, CALL)),
    ]
    assert read(file, count_refused) == 2
    assert read(file, count_by_kind) == {"network": 4, "call": 1}


@pytest.mark.parametrize(
    ("asked", "numbers", "known"),
    [
        ("1", [1], True),
        ("out-1", [2, 1], True),
        ("2", [2], True),
        ("9", [], False),
        ("'", [], False),
    ],
)
def test_a_run_is_asked_for_by_its_number_or_its_output(file, asked, numbers, known):
    record(file, RUN, (NAME,))
    record(file, RUN, (CALL,))
    assert [one[0] for one in read(file, lambda db: list_refused(db, run=asked))] == numbers
    assert read(file, lambda db: is_known(db, asked)) is known


def test_the_oldest_refusals_go(file, monkeypatch):
    monkeypatch.setattr(usage, "REFUSALS_MAX", 10)
    for _ in range(8):
        record(file, RUN, (NAME, CALL))
    assert [one[0] for one in read(file, list_refused)] == [8, 7, 6, 5, 4]


def test_a_secret_in_a_target_reaches_neither_the_table_nor_the_log(file):
    leaky = Refusal("network", f"token={SECRET}", "x", "exact")
    record(file, RUN, (leaky,))
    assert SECRET.encode() not in file.read_bytes()
    assert "REDACTED" in read(file, list_refused)[0][2][0].target
    assert SECRET not in "".join(summarize([leaky]))


def test_a_run_whose_refusals_cannot_be_written_is_not_listed_either(file):
    broken = Refusal("network", "example.com", "x", "exact", None)  # a column that may not be null
    with pytest.raises(sqlite3.IntegrityError):
        record(file, RUN, (NAME, broken))
    assert read(file, lambda db: db.execute("SELECT COUNT(*) FROM run").fetchone()) == (0,)


def test_a_file_of_an_earlier_release_gets_the_table(file):
    with closing(sqlite3.connect(file)) as db:
        usage.create_usage_table(db)
        usage.create_run_table(db)
        db.execute("PRAGMA user_version = 2")
        db.commit()
    record(file, RUN, (NAME,))
    assert read(file, count_refused) == 1
