"""A day's first write copies the file; a damaged one is read from its last copy."""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import closing

import pytest

from base.stores.copies import find_last_copy, list_copies
from memory.errors import BadInputError, StoreUnavailableError
from memory.facts.memory import Memory
from memory.facts.recalling import RecallRequest
from memory.facts.schema import STEPS
from memory.facts.store import (
    KEPT,
    FactDatabase,
    make_snapshot,
    snapshot_database,
)
from memory.facts.writing import remember
from tests.memory.facts.damages import DAMAGES, overwrite_head, overwrite_middle, truncate
from tests.memory.facts.stores import ADA, Clock, draft, open_facts, standing

DAY = 86_400


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "memory.sqlite3"


def texts_of(snapshot):
    with closing(sqlite3.connect(snapshot)) as db:
        return sorted(text for (text,) in db.execute("SELECT body FROM fact"))


def test_x13_the_first_write_of_a_day_copies_what_was_there_and_five_are_kept(
    tmp_path, clock, path
):
    with open_facts(tmp_path, clock) as store:
        for day in range(KEPT + 3):
            remember(store, draft(f"of day {day}"), ADA)
            remember(store, draft(f"later on day {day}"), ADA)
            clock.now += DAY
        kept = list_copies(path)
        assert len(kept) == KEPT
        assert kept == sorted(kept, reverse=True)
        assert len(texts_of(kept[0])) == (KEPT + 2) * 2
        assert "of day 7" not in texts_of(kept[0])
        assert stat.S_IMODE(os.stat(kept[0]).st_mode) == 0o600
        assert {one.name for one in kept[0].parent.iterdir()} == {
            *(one.name for one in kept),
            "memory.lock",
        }
        assert snapshot_database(store.database, store.clock()) == kept[0].with_name(
            "memory-2026-06-05.sqlite3"
        )
        assert snapshot_database(store.database, store.clock()) is None


def test_a_file_without_facts_is_not_copied(tmp_path, clock, path):
    with open_facts(tmp_path, clock) as store:
        assert snapshot_database(store.database, store.clock()) is None
        assert find_last_copy(path) is None


def test_what_a_killed_process_left_is_removed(tmp_path, clock, path):
    with open_facts(tmp_path, clock) as store:
        remember(store, draft("one"), ADA)
        left = tmp_path / "snapshots" / "memory-2020-01-01.unfinished"
        left.parent.mkdir(exist_ok=True)
        left.write_bytes(b"half")
        assert snapshot_database(store.database, store.clock()) == find_last_copy(path)
    assert not left.exists()


def test_a_folder_that_cannot_be_written_is_told_and_the_write_is_done(tmp_path, clock):
    with open_facts(tmp_path, clock) as store:
        remember(store, draft("one"), ADA)
        (tmp_path / "snapshots").write_text("no folder")
        clock.now += DAY
        remember(store, draft("two"), ADA)
        assert "today's snapshot of the facts was not made" in store.notices[-1]
        assert len(standing(store)) == 2


def content_of(path):
    """All but the header of SQLite's, in which an opening is counted."""
    return path.read_bytes()[100:] if path.exists() else None


@pytest.fixture
def copied(tmp_path, clock, path):
    """A file of two facts, of which a snapshot has the first."""
    with open_facts(tmp_path, clock) as store:
        remember(store, draft("the first fact", key="a"), ADA)
        clock.now += DAY
        remember(store, draft("the second fact", key="b"), ADA)
    return path


@pytest.mark.parametrize("damage", DAMAGES)
def test_x13_a_damaged_file_is_read_from_its_last_snapshot_and_takes_no_writes(
    tmp_path, clock, copied, damage
):
    damage(copied)
    before = content_of(copied)
    with open_facts(tmp_path, clock) as store:
        assert [fact.text for fact in standing(store)] == ["the first fact"]
        assert "damaged or missing" in store.notices[0]
        assert str(find_last_copy(copied)) in store.notices[0]
        memory = Memory(store)
        assert "first" in memory.recall(RecallRequest("first")).text
        with pytest.raises(StoreUnavailableError, match="nothing is written") as refused:
            memory.remember(draft("a third"))
        assert "`context-mode memory restore --last`" in refused.value.remedy
        with pytest.raises(StoreUnavailableError):
            memory.erase("a")
    assert content_of(copied) == before
    assert texts_of(find_last_copy(copied)) == ["the first fact"]


@pytest.mark.parametrize("damage", [overwrite_head, overwrite_middle, truncate])
def test_a_damaged_file_without_a_snapshot_is_refused_and_left(tmp_path, clock, path, damage):
    with open_facts(tmp_path, clock) as store:
        remember(store, draft("the only fact"), ADA)
    damage(path)
    before = content_of(path)
    with pytest.raises(StoreUnavailableError, match="has no snapshot") as refused:
        open_facts(tmp_path, clock)
    assert "memory restore FILE" in refused.value.remedy
    assert content_of(path) == before


def test_damage_that_is_met_while_the_file_is_open_is_read_past_too(tmp_path, clock, copied):
    with open_facts(tmp_path, clock) as store:
        memory = Memory(store)
        assert len(memory.list()) == 2
        store.database.close()
        store.database = FactDatabase(copied, STEPS, holds="facts")
        overwrite_middle(copied)
        assert [fact.text for fact in memory.list()] == ["the first fact"]
        assert "damaged or missing" in memory.notices[0]


def test_x13_a_copy_goes_where_a_person_says_and_over_nothing(tmp_path, clock, path):
    to = tmp_path / "mine.sqlite3"
    with open_facts(tmp_path, clock) as store:
        remember(store, draft("one"), ADA)
        make_snapshot(store, to)
        assert texts_of(to) == ["one"]
        for wrong in (to, tmp_path / "none" / "x", tmp_path, path):
            with pytest.raises(BadInputError):
                make_snapshot(store, wrong)
        os.symlink(tmp_path / "elsewhere", tmp_path / "link")
        with pytest.raises(BadInputError):
            make_snapshot(store, tmp_path / "link")
    assert not (tmp_path / "elsewhere").exists()
    assert texts_of(to) == ["one"]
