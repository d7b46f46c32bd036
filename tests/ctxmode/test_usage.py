"""Measured bytes: produced, returned, kept; parts make the whole; counts outlive their server."""

import sqlite3
import threading

import pytest

from ctxmode.config import load_config
from ctxmode.errors import ContextModeError
from ctxmode.usage import Counts, Usage, read, record, tokens
from ctxmode.usage_table import bar, read_usage, usage_text


@pytest.fixture
def file(tmp_path):
    return tmp_path / "usage.sqlite3"


def test_nothing_is_counted_yet(file):
    assert read(file) == Usage({}, {})
    assert not file.exists()


def test_parts_make_the_whole(file):
    record(file, "ctx_execute", failed=False, produced=100_000, returned=4_000)
    record(file, "ctx_execute", failed=True, produced=10, returned=90)
    record(file, "ctx_search", failed=False, produced=0, returned=3_000)
    usage = read(file)
    assert usage.tools == {
        "ctx_execute": Counts(2, 1, 100_010, 4_090),
        "ctx_search": Counts(1, 0, 0, 3_000),
    }
    data = usage.to_json()
    for name in ("calls", "errors", "produced", "returned", "kept"):
        assert data["total"][name] == sum(tool[name] for tool in data["tools"].values())
        assert data["total"][name] == sum(day[name] for day in data["days"].values())
    for counts in (data["total"], *data["tools"].values()):
        assert counts["kept"] == counts["produced"] - counts["returned"]
    assert data["tokens_kept"] == tokens(92_920) == 23_230


def test_indexing_alone_saves_nothing(file):
    record(file, "ctx_index", failed=False, produced=0, returned=80)
    assert read(file).total.kept == -80


def test_many_servers_count_into_one_file_and_none_is_lost(file):
    def server():
        for _ in range(20):
            record(file, "ctx_execute", failed=False, produced=3, returned=1)

    servers = [threading.Thread(target=server) for _ in range(6)]
    for one in servers:
        one.start()
    for one in servers:
        one.join()
    assert read(file).total == Counts(120, 0, 360, 120)


def test_a_damaged_file_is_told_with_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("CONTEXT_MODE_DIR", str(tmp_path / "data"))
    config = load_config(str(tmp_path))
    config.usage_file.parent.mkdir(parents=True)
    config.usage_file.write_bytes(b"not a database " * 100)
    with pytest.raises(ContextModeError, match="usage"):
        read_usage(config)
    with pytest.raises(sqlite3.Error):
        record(config.usage_file, "x", failed=False, produced=0, returned=0)


def test_the_text_names_the_formula_and_the_estimator():
    usage = Usage({"ctx_execute": Counts(2, 1, 2048, 1024)}, {})
    text = usage_text(usage)
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
