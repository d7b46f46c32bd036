"""Measured bytes: produced, returned, kept; parts make the whole; counts outlive their server."""

import sqlite3
import threading
from contextlib import closing

import pytest

from ctxmode.config.locations import load_config
from ctxmode.errors import ContextModeError
from ctxmode.operations import usage
from ctxmode.operations.usage import CallRecord, Counts, Recorder, ToolUsage, read, record, tokens
from ctxmode.render.usage_table import bar, read_usage, usage_text


@pytest.fixture
def file(tmp_path):
    return tmp_path / "usage.sqlite3"


def test_nothing_is_counted_yet(file):
    assert read(file) == ToolUsage({}, {})
    assert not file.exists()


def test_parts_make_the_whole(file):
    record(file, CallRecord("ctx_execute", False, 100_000, 4_000))
    record(file, CallRecord("ctx_execute", True, 10, 90))
    record(file, CallRecord("ctx_search", False, 0, 3_000))
    found = read(file)
    assert found.tools == {
        "ctx_execute": Counts(2, 1, 100_010, 4_090),
        "ctx_search": Counts(1, 0, 0, 3_000),
    }
    data = found.to_json()
    for name in ("calls", "errors", "produced", "returned", "kept"):
        assert data["total"][name] == sum(tool[name] for tool in data["tools"].values())
        assert data["total"][name] == sum(day[name] for day in data["days"].values())
    for counts in (data["total"], *data["tools"].values()):
        assert counts["kept"] == counts["produced"] - counts["returned"]
    assert data["tokens_kept"] == tokens(92_920) == 23_230


def test_indexing_alone_saves_nothing(file):
    record(file, CallRecord("ctx_index", False, 0, 80))
    assert read(file).total.kept == -80


def test_many_servers_count_into_one_file_and_none_is_lost(file):
    def server():
        for _ in range(20):
            record(file, CallRecord("ctx_execute", False, 3, 1))

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
            assert recorder.add(CallRecord("ctx_execute", produced=3, returned=1))
            record(file, CallRecord("ctx_search", returned=2))
        assert read(file).tools == {
            "ctx_execute": Counts(3, 0, 9, 3),
            "ctx_search": Counts(3, 0, 0, 6),
        }


def test_while_another_writes_nothing_is_added_and_nothing_waits(file):
    with closing(Recorder(file)) as recorder:
        assert recorder.add(CallRecord("ctx_execute"))
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            assert not recorder.add(CallRecord("ctx_execute"))
            other.execute("ROLLBACK")
        assert recorder.add(CallRecord("ctx_execute"))
        assert read(file).total.calls == 2


def test_the_log_of_a_file_that_is_held_open_does_not_grow_for_ever(file):
    log = file.with_name(f"{file.name}-wal")
    sizes = []
    with closing(Recorder(file)) as recorder:
        for number in range(5000):
            call = CallRecord("ctx_execute", produced=number)
            if not recorder.add(call):
                record(file, call)
                sizes.append(log.stat().st_size)
        assert read(file).total.calls == 5000
    assert len(sizes) == 5000 // usage.SHARE_OF_PATIENT_ONES
    assert max(sizes[-3:]) == max(sizes[:8])


def test_a_file_that_was_removed_begins_anew(file):
    with closing(Recorder(file)) as recorder:
        assert recorder.add(CallRecord("ctx_execute"))
        for path in file.parent.glob(f"{file.name}*"):
            path.unlink()
        assert recorder.add(CallRecord("ctx_search"))
        assert list(read(file).tools) == ["ctx_search"]


def test_a_damaged_file_is_told_with_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("CONTEXT_MODE_DIR", str(tmp_path / "data"))
    config = load_config(str(tmp_path))
    config.usage_file.parent.mkdir(parents=True)
    config.usage_file.write_bytes(b"not a database " * 100)
    with pytest.raises(ContextModeError, match="usage"):
        read_usage(config)
    with pytest.raises(sqlite3.Error):
        record(config.usage_file, CallRecord("x"))
    with closing(Recorder(config.usage_file)) as recorder, pytest.raises(sqlite3.Error):
        recorder.add(CallRecord("x"))


def test_the_text_names_the_formula_and_the_estimator():
    text = usage_text(ToolUsage({"ctx_execute": Counts(2, 1, 2048, 1024)}, {}))
    assert "2 calls (1 failed), produced 2.0 KB, returned 1.0 KB, kept 1.0 KB" in text
    assert "about 256 tokens (UTF-8 bytes / 4)" in text
    assert "kept = produced - returned" in text


@pytest.mark.parametrize(
    ("counts", "shown"),
    [
        (Counts(1, 0, 100, 50), "█" * 15 + "·" * 15 + " 50%"),
        (Counts(1, 0, 100, 0), "·" * 30 + " 0%"),
        (Counts(1, 0, 100, 300), "█" * 30 + " 300%"),
        (Counts(1, 0, 0, 10), ""),
    ],
)
def test_a_bar_is_the_share_that_was_returned(counts, shown):
    assert bar(counts) == shown
