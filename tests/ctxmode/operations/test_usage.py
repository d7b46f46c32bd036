"""Calls are counted: by many servers at once, none lost, and outliving their server."""

import logging
import sqlite3
import threading
from contextlib import closing

import pytest

from ctxmode.operations import usage
from ctxmode.operations.figures import ToolFigures, sum_rows
from ctxmode.operations.usage import Counts, Recorder, RunRecord, list_runs, read_rows, record


@pytest.fixture
def file(tmp_path):
    return tmp_path / "usage.sqlite3"


def read(file) -> ToolFigures:
    return sum_rows({"": read_rows(file)})


def test_nothing_is_counted_yet(file):
    assert read_rows(file) == []
    assert not file.exists()


def test_many_servers_count_into_one_file_and_none_is_lost(file):
    def server():
        for _ in range(20):
            record(file, ("ctx_execute", Counts(1, 0, 3, 1)))

    servers = [threading.Thread(target=server) for _ in range(6)]
    for one in servers:
        one.start()
    for one in servers:
        one.join()
    assert read(file).total == Counts(120, 0, 360, 120)


def test_what_a_server_adds_others_find_at_once(file):
    first, second = Recorder(file), Recorder(file)
    with closing(first), closing(second):
        for recorder in (first, second, first):
            assert recorder.add(("ctx_execute", Counts(1, produced=3, returned=1)))
            record(file, ("ctx_search", Counts(1, returned=2)))
        assert read(file).tools == {
            "ctx_execute": Counts(3, 0, 9, 3),
            "ctx_search": Counts(3, 0, 0, 6),
        }


def test_while_another_writes_nothing_is_added_and_nothing_waits(file):
    with closing(Recorder(file)) as recorder:
        assert recorder.add(("ctx_execute", Counts(1)))
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            assert not recorder.add(("ctx_execute", Counts(1)))
            other.execute("ROLLBACK")
        assert recorder.add(("ctx_execute", Counts(1)))
        assert read(file).total.calls == 2


def test_the_log_of_a_file_that_is_held_open_does_not_grow_for_ever(file):
    log = file.with_name(f"{file.name}-wal")
    sizes = []
    with closing(Recorder(file)) as recorder:
        for number in range(5000):
            call = ("ctx_execute", Counts(1, produced=number))
            if not recorder.add(call):
                record(file, call)
                sizes.append(log.stat().st_size)
        assert read(file).total.calls == 5000
    assert len(sizes) == 5000 // usage.SHARE_OF_PATIENT_ONES
    assert max(sizes[-3:]) == max(sizes[:8])


def test_a_file_that_was_removed_begins_anew(file):
    with closing(Recorder(file)) as recorder:
        assert recorder.add(("ctx_execute", Counts(1)))
        for path in file.parent.glob(f"{file.name}*"):
            path.unlink()
        assert recorder.add(("ctx_search", Counts(1)))
        assert list(read(file).tools) == ["ctx_search"]


def test_a_damaged_file_is_an_error(file):
    file.write_bytes(b"not a database " * 100)
    with pytest.raises(sqlite3.Error):
        record(file, ("x", Counts(1)))
    with closing(Recorder(file)) as recorder, pytest.raises(sqlite3.Error):
        recorder.add(("x", Counts(1)))
    with pytest.raises(sqlite3.Error):
        read_rows(file)


def test_reading_makes_no_table(file):
    file.write_bytes(b"")
    assert read_rows(file) == []
    assert file.read_bytes() == b""


RUN = RunRecord(
    5.0, "python", "cpython", "analyze", "A", "ok", 0, None, "run", "allow", 0.1, 0.1, 9, 1, 2, 0,
    0, 0, 0, None, "out-1",
)  # fmt: skip


def read_runs(file, **wanted):
    with closing(sqlite3.connect(file)) as db:
        return list_runs(db, **wanted)


def test_runs_are_listed_beside_the_counts_the_latest_first(file):
    with closing(Recorder(file)) as recorder:
        assert recorder.add(("ctx_execute", Counts(1, produced=1)))
        assert recorder.add(RUN)
        assert recorder.add(RUN._replace(status="timed_out", output_id=None))
    record(file, RUN._replace(at=7.0))
    assert [run.status for run in read_runs(file)] == ["ok", "timed_out", "ok"]
    assert read_runs(file, status="ok", limit=1) == [RUN._replace(at=7.0)]
    assert read(file).total.calls == 1


def test_the_oldest_runs_go(file, monkeypatch):
    monkeypatch.setattr(usage, "ROWS_MAX", 100)
    with closing(Recorder(file)) as recorder:
        for number in range(300):
            one = RUN._replace(at=float(number))
            if not recorder.add(one):
                record(file, one)
    kept = [run.at for run in read_runs(file, limit=1000)]
    assert 100 <= len(kept) < 100 + usage.PRUNED_EVERY
    assert kept == sorted(kept, reverse=True)
    assert kept[0] == 299.0


def test_a_file_of_the_first_release_keeps_its_counts_and_gets_a_table_of_runs(file):
    with closing(sqlite3.connect(file)) as db:
        usage.create_usage_table(db)
        db.execute("INSERT INTO usage VALUES (0, 'ctx_execute', 4, 0, 8, 2)")
        db.commit()
    with closing(Recorder(file)) as recorder:
        assert recorder.add(RUN)
        assert recorder.add(("ctx_execute", Counts(1)))
    assert read_runs(file) == [RUN]
    assert read(file).total == Counts(5, 0, 8, 2)


async def test_a_file_of_a_later_release_costs_no_run_its_answer(file, caplog):
    with closing(sqlite3.connect(file)) as db:
        db.execute("CREATE TABLE other (x)")
        db.execute("PRAGMA user_version = 99")
    with closing(Recorder(file)) as recorder, caplog.at_level(logging.INFO):
        await recorder.count(RUN)
    assert "a run was not counted" in caplog.text
