"""A snapshot takes the place of a file of facts, wholly or not at all (X13)."""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from base.stores.copies import find_last_copy
from base.stores.database import share_file
from memory.errors import BadInputError, StoreUnavailableError
from memory.facts.restoring import (
    check_store,
    describe_snapshots,
    find_last_sound,
    find_snapshot,
    restore,
)
from memory.facts.store import KEPT, make_snapshot
from memory.facts.writing import forget, remember
from tests.memory.facts.damages import DAMAGES, overwrite_head, overwrite_middle
from tests.memory.facts.stores import ADA, Clock, draft, open_facts, standing

DAY = 86_400


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def path(tmp_path, clock):
    """A file of two facts, of which a snapshot has the first."""
    with open_facts(tmp_path, clock) as store:
        remember(store, draft("the first fact", key="a"), ADA)
        clock.now += DAY
        remember(store, draft("the second fact", key="b"), ADA)
    return tmp_path / "memory.sqlite3"


def read_texts(folder, clock):
    with open_facts(folder, clock) as store:
        assert store.notices == ()
        assert check_store(store) == ()
        return sorted(fact.text for fact in standing(store))


@pytest.mark.parametrize("damage", DAMAGES)
def test_x13_a_damaged_file_is_restored_and_kept(tmp_path, clock, path, damage):
    damage(path)
    before = path.read_bytes() if path.exists() else b""
    chosen, passed = find_last_sound(path)
    restored = restore(path, chosen, clock=clock)
    assert (restored.snapshot.name, restored.snapshot.facts, passed) == ("2026-05-29", 1, ())
    assert not restored.is_readable
    assert read_texts(tmp_path, clock) == ["the first fact"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with open_facts(tmp_path, clock) as store:
        remember(store, draft("a third"), ADA)
    kept = [one for one in describe_snapshots(path) if one.name == restored.replaced]
    assert [(one.problem != "", Path(one.path).read_bytes()) for one in kept] == (
        [(True, before)] if before else []
    )
    assert {one.name for one in tmp_path.iterdir()} == {
        "memory.sqlite3",
        "snapshots",
        f"{path.name}.lock",
    }


def test_what_is_lost_is_told_and_a_restore_is_undone_by_another(tmp_path, clock, path):
    with open_facts(tmp_path, clock) as store:
        remember(store, draft("the first fact, anew", key="a"), ADA)
        forget(store, "b", ADA)
        remember(store, draft("a third", key="c"), ADA)
    restored = restore(path, find_last_sound(path)[0], clock=clock)
    assert restored.lost == ("/memory/general/a", "/memory/general/c")
    assert (restored.back, restored.lost_changes) == (("/memory/general/a",), 4)
    assert read_texts(tmp_path, clock) == ["the first fact"]
    undone = restore(path, find_snapshot(path, restored.replaced), clock=clock)
    assert (undone.back, undone.lost_changes) == (restored.lost, 0)
    assert read_texts(tmp_path, clock) == ["a third", "the first fact, anew"]


def test_what_is_in_the_log_alone_is_kept_too(tmp_path, clock, path):
    copy = tmp_path / "copied" / path.name
    copy.parent.mkdir()
    with open_facts(tmp_path, clock) as store:
        remember(store, draft("a third", key="c"), ADA)
        for suffix in ("", "-wal"):  # as a process that was killed leaves them
            copy.with_name(copy.name + suffix).write_bytes(
                path.with_name(path.name + suffix).read_bytes()
            )
    (tmp_path / "snapshots").rename(copy.parent / "snapshots")
    restored = restore(copy, find_last_sound(copy)[0], clock=clock)
    assert restored.lost_changes == 2
    restore(copy, find_snapshot(copy, restored.replaced), clock=clock)
    assert len(read_texts(copy.parent, clock)) == 3


def test_the_newest_sound_snapshot_is_the_last_one(tmp_path, clock, path):
    clock.now += DAY
    with open_facts(tmp_path, clock) as store:
        remember(store, draft("a third", key="c"), ADA)
    newest = find_last_copy(path)
    overwrite_middle(newest)
    chosen, passed = find_last_sound(path)
    assert (chosen.name, [one.name for one in passed]) == ("2026-05-29", ["2026-05-30"])
    with pytest.raises(BadInputError, match="is damaged"):
        restore(path, find_snapshot(path, "2026-05-30"), clock=clock)
    assert len(read_texts(tmp_path, clock)) == 3


def make_wrong(tmp_path):
    """Files that no restore may take, by what is wrong with them."""
    with open_facts(tmp_path / "empty") as store:
        make_snapshot(store, tmp_path / "empty.sqlite3")
    for name, script in (
        ("other", "CREATE TABLE other (x)"),
        ("newer", "PRAGMA user_version = 99; CREATE TABLE fact (x); CREATE TABLE live (x);"
                  " CREATE TABLE change (at); CREATE TABLE branch (x)"),
    ):  # fmt: skip
        with closing(sqlite3.connect(tmp_path / f"{name}.sqlite3")) as db:
            db.executescript(script)
    with open_facts(tmp_path / "trigger") as store:
        remember(store, draft("of another"), ADA)
        with store.database.exclusively() as db:
            db.execute("CREATE TRIGGER t AFTER INSERT ON change BEGIN DELETE FROM fact; END")
        make_snapshot(store, tmp_path / "trigger.sqlite3")
    (tmp_path / "text.sqlite3").write_text("no database")
    (tmp_path / "nothing.sqlite3").touch()
    os.mkfifo(tmp_path / "pipe.sqlite3")


WRONG = {
    "empty": "has no facts",
    "other": "is not a file of facts",
    "newer": "update this program|has no facts",
    "trigger": "triggers",
    "text": "is damaged",
    "nothing": "is not a file of facts",
    "pipe": "no snapshot",
    "memory": "is the file of facts itself",
    "none": "no snapshot",
}


@pytest.mark.parametrize("name", WRONG)
def test_x13_no_broken_empty_or_other_file_takes_its_place(tmp_path, clock, path, name):
    make_wrong(tmp_path)
    before = path.read_bytes()
    with pytest.raises(BadInputError, match=WRONG[name]):
        restore(path, find_snapshot(path, str(tmp_path / f"{name}.sqlite3")), clock=clock)
    assert path.read_bytes() == before
    assert [one.name for one in describe_snapshots(path)] == ["2026-05-29"]


@pytest.mark.parametrize("wanted", ["", "../x", "\0", "\ud800", "x" * 5000, "2026-05-28"])
def test_a_name_that_no_snapshot_has_is_refused(tmp_path, monkeypatch, path, wanted):
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")  # a name may be a file beside the caller
    with pytest.raises(BadInputError, match="no snapshot"):
        find_snapshot(path, wanted)


@pytest.mark.parametrize("name", ["mine.sqlite3", "a b%20?#", os.fsdecode(b"\xff")])
def test_a_backup_of_ones_own_is_restored_where_there_is_no_snapshot(tmp_path, clock, name):
    with open_facts(tmp_path, clock) as store:
        remember(store, draft("one"), ADA)
        make_snapshot(store, tmp_path / name)
    path = tmp_path / "memory.sqlite3"
    with pytest.raises(BadInputError, match="has no snapshot"):
        find_last_sound(path)
    overwrite_head(path)
    restore(path, find_snapshot(path, str(tmp_path / name)), clock=clock)
    assert read_texts(tmp_path, clock) == ["one"]


def test_a_snapshot_whose_live_facts_differ_from_its_ledger_is_put_right(tmp_path, clock, path):
    with closing(sqlite3.connect(find_last_copy(path))) as db:
        db.execute("DELETE FROM live")
        db.commit()
    restore(path, find_last_sound(path)[0], clock=clock)
    assert read_texts(tmp_path, clock) == ["the first fact"]


def test_a_file_that_is_open_is_not_replaced(tmp_path, clock, path):
    chosen, _ = find_last_sound(path)
    with open_facts(tmp_path, clock) as store:
        with pytest.raises(StoreUnavailableError, match="is open in another process"):
            restore(path, chosen, clock=clock, wait_s=0.05)
        remember(store, draft("a third"), ADA)
    assert len(read_texts(tmp_path, clock)) == 3


def test_a_store_is_not_opened_while_one_restores(tmp_path, clock, path, monkeypatch):
    from memory.facts import restoring

    refused = []

    def put(*args):
        with pytest.raises(StoreUnavailableError, match="being restored") as error:
            open_facts(tmp_path, clock, wait_s=0.05)
        refused.append(error)

    monkeypatch.setattr(restoring, "put_file", put)
    restore(path, find_last_sound(path)[0], clock=clock)
    assert len(refused) == 1
    with share_file(path, 0):
        pass


def test_five_replaced_files_are_kept(tmp_path, clock, path):
    for _ in range(KEPT + 2):
        restore(path, find_last_sound(path)[0], clock=clock)
        clock.now += 1
    names = [one.name for one in describe_snapshots(path) if "replaced" in one.name]
    assert len(names) == KEPT
    assert names == sorted(names, reverse=True)
    restore(path, find_last_sound(path)[0], clock=Clock(clock.now - 1))  # in the same second
    assert f"{names[0]}-2" in [one.name for one in describe_snapshots(path)]


@pytest.mark.parametrize("step", [0, -1, 0.3])
def test_the_file_that_was_replaced_last_is_kept(tmp_path, clock, path, step):
    for number in range(2 * KEPT + 3):  # with two digits, too
        with open_facts(tmp_path, clock) as store:
            remember(store, draft(f"number {number}"), ADA)
        restored = restore(path, find_last_sound(path)[0], clock=clock)
        assert Path(restored.replaced_path).exists()
        assert find_snapshot(path, restored.replaced).path == restored.replaced_path
        with closing(sqlite3.connect(restored.replaced_path)) as db:
            assert (f"number {number}",) in db.execute("SELECT title || body FROM fact").fetchall()
        clock.now += step
    assert len([one for one in describe_snapshots(path) if "replaced" in one.name]) <= KEPT + 1


@pytest.mark.parametrize("damage", [overwrite_middle, None])
def test_what_is_erased_stays_in_no_replaced_file(tmp_path, clock, path, damage):
    from memory.facts.erasing import erase

    if damage:
        damage(path)
    restore(path, find_last_sound(path)[0], clock=clock)
    with open_facts(tmp_path, clock) as store:
        erased = erase(store, "a", ADA)
    assert len(erased.lost_snapshots) == (1 if damage else 0)
    for file in tmp_path.rglob("*"):
        assert file.is_dir() or b"first fact" not in file.read_bytes()


def test_a_folder_without_room_for_it_leaves_the_file(tmp_path, clock, path, monkeypatch):
    from memory.facts import restoring

    def fail(*_):
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(restoring.shutil, "copyfile", fail)
    with pytest.raises(StoreUnavailableError, match="No space left"):
        restore(path, find_last_sound(path)[0], clock=clock)
    assert len(read_texts(tmp_path, clock)) == 2
