"""All stores of a user keep to one quota together: the oldest goes, wherever it is kept."""

from __future__ import annotations

import fcntl
import os
import random
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kb import Store, all_stores, eviction
from kb.all_stores import Holding
from kb.eviction import DiskUse
from kb.model import SourceSpec

QUOTA = 2_500_000
HOUR_S = 3600


def text(number: int) -> bytes:
    """Words that hardly repeat, so that a store of them is as large as it may be."""
    words = random.Random(number)
    return "\n".join(f"source{number} {words.random()}" for _ in range(7000)).encode()


def filled(folder: Path, ages: dict[str, list[int]]) -> None:
    """Stores by name, each with sources as many hours old as is said."""
    for name, hours in ages.items():
        with Store.open(folder / f"{name}.sqlite3") as store:
            for at, hour in enumerate(hours):
                added = store.add(SourceSpec(f"{name} {hour}"), text(100 * at + hour))
                with store.access.writing() as db:
                    db.execute(
                        "UPDATE source SET indexed_at = indexed_at - ? WHERE id = ?",
                        (hour * HOUR_S, added.source_id),
                    )


def kept(folder: Path, name: str) -> list[int]:
    """How old the sources are that a store still has whole."""
    with Store.open(folder / f"{name}.sqlite3") as store:
        assert store.check() == ()
        return sorted(int(s.label.split()[1]) for s in store.sources() if s.complete)


def done(folder: Path, quota: int = QUOTA) -> int:
    return sum(1 for _ in all_stores.keep_to_quota(folder, quota))


def test_within_the_quota_nothing_is_opened(tmp_path: Path) -> None:
    filled(tmp_path, {"one": [1], "two": [2]})
    assert done(tmp_path) == 0
    assert all_stores.latest(tmp_path) is None


def test_what_is_oldest_goes_from_whichever_store_has_it(tmp_path: Path) -> None:
    filled(tmp_path, {"old": [90, 80, 70, 60], "mixed": [99, 2, 1], "new": [5, 4, 3]})
    assert all_stores.total(tmp_path) > QUOTA
    assert done(tmp_path) > 3
    assert all_stores.total(tmp_path) <= QUOTA
    assert kept(tmp_path, "new") == [3, 4, 5]
    assert kept(tmp_path, "mixed") == [1, 2]
    assert len(kept(tmp_path, "old")) < 4
    assert all_stores.latest(tmp_path).stores == 2


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Another process is writing it."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    yield
    db.close()


@contextmanager
def damaged(path: Path) -> Iterator[None]:
    path.write_bytes(b"no database at all" * 30_000)
    yield


@contextmanager
def being_opened(path: Path) -> Iterator[None]:
    """Another process migrates it."""
    handle = os.open(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT)
    fcntl.flock(handle, fcntl.LOCK_EX)
    yield
    os.close(handle)


@pytest.mark.parametrize("trouble", [locked, damaged, being_opened])
def test_a_store_that_cannot_be_used_is_passed_over_and_told(tmp_path: Path, trouble) -> None:
    filled(tmp_path, {"old": [90, 80, 70, 60], "new": [9, 8, 7, 6, 5, 4, 3, 2]})
    before = sorted(path.name for path in tmp_path.glob("old*") if "-" not in path.name)
    content = (tmp_path / "old.sqlite3").read_bytes()
    with trouble(tmp_path / "old.sqlite3"):
        if trouble is damaged:
            content = (tmp_path / "old.sqlite3").read_bytes()
        done(tmp_path, QUOTA // 2)
        told = all_stores.latest(tmp_path)
    assert list(told.passed_over) == ["old.sqlite3"]
    assert "old.sqlite3" in told.passed_over["old.sqlite3"]
    assert (tmp_path / "old.sqlite3").read_bytes() == content
    assert {p.name for p in tmp_path.glob("old*") if "-" not in p.name} - set(before) <= {
        "old.sqlite3.lock"
    }
    assert kept(tmp_path, "new")[:2] == [2, 3]
    assert len(kept(tmp_path, "new")) < 8


def test_only_one_process_is_at_it(tmp_path: Path) -> None:
    filled(tmp_path, {"old": [90, 80, 70, 60], "new": [3, 2, 1]})
    first = all_stores.keep_to_quota(tmp_path, QUOTA // 2)
    next(first)
    assert done(tmp_path, QUOTA // 2) == 0
    first.close()
    assert done(tmp_path, QUOTA // 2) > 0


def test_what_is_no_store_is_left_alone(tmp_path: Path) -> None:
    filled(tmp_path, {"one": [1]})
    (tmp_path / "one.usage.sqlite3").write_bytes(b"x")
    (tmp_path / "one.sessions.sqlite3").write_bytes(b"x")
    (tmp_path / "link.sqlite3").symlink_to(tmp_path / "one.sqlite3")
    os.mkfifo(tmp_path / "fifo.sqlite3")
    (tmp_path / "folder.sqlite3").mkdir()
    assert [path.name for path in eviction.stores(tmp_path)] == ["one.sqlite3"]


def holding(filled_bytes: int, ages: dict[tuple[int, int], int], free: int = 0) -> Holding:
    size = sum(ages.values())
    use = DiskUse(filled_bytes + free, 0, 0, filled_bytes + free, free)
    return use, size, tuple(sorted(ages.items()))


@pytest.mark.parametrize(
    ("holdings", "quota", "expected"),
    [
        pytest.param({"a": holding(80, {(1, 1): 80})}, 100, {}, id="within"),
        pytest.param({"a": holding(200, {(1, 1): 200})}, 100, {"a": 110}, id="one"),
        pytest.param(
            {"a": holding(100, {(1, 2): 100}), "b": holding(100, {(1, 1): 100})},
            150,
            {"b": 65},
            id="the older",
        ),
        pytest.param(
            {"a": holding(100, {(0, 9): 100}), "b": holding(100, {(1, 1): 100})},
            150,
            {"a": 65},
            id="superseded before older",
        ),
        pytest.param({"a": holding(200, {(1, 1): 100})}, 100, {"a": 55}, id="in text"),
        pytest.param({"a": holding(80, {(1, 1): 80}, free=50)}, 100, {"a": 0}, id="free"),
        pytest.param({"a": holding(200, {})}, 100, {}, id="all pinned"),
    ],
)
def test_from_which_stores_how_much_goes(holdings, quota, expected) -> None:
    found = all_stores.cuts({Path(name): one for name, one in holdings.items()}, quota)
    assert {path.name: cut for path, cut in found.items()} == expected


@pytest.mark.parametrize("content", ["", "{", "[]", '{"at": 1, "else": 2}'])
def test_a_report_that_cannot_be_read_is_none(tmp_path: Path, content: str) -> None:
    (tmp_path / all_stores.REPORT).write_text(content)
    assert all_stores.latest(tmp_path) is None
