"""Daily copies of a file, and the damaged file that one of them replaces."""

import sqlite3
from contextlib import closing

import pytest

from base.stores.copies import copy_daily, describe_damage, list_copies, restore_last_copy
from base.stores.database import Database, name_lock, share_file
from memory.errors import StoreUnavailableError
from tests.memory.facts.damages import overwrite_head

DAY_S = 86_400.0
NOW = 20_000 * DAY_S


def make_table(db):
    db.execute("CREATE TABLE word (text TEXT)")


@pytest.fixture
def database(tmp_path):
    with closing(Database(tmp_path / "w.sqlite3", (make_table,), holds="words")) as opened:
        yield opened


def say(database, text):
    with database.writing() as db:
        db.execute("INSERT INTO word VALUES (?)", (text,))


def read_words(path):
    with closing(sqlite3.connect(path)) as db:
        return [text for (text,) in db.execute("SELECT text FROM word")]


def test_one_a_day_is_made_and_the_last_are_kept(database):
    for day in range(4):
        say(database, f"word {day}")
        assert copy_daily(database, NOW + day * DAY_S, kept=2)
        assert copy_daily(database, NOW + day * DAY_S, kept=2) is None
    copies = list_copies(database.path)
    assert [len(read_words(copy)) for copy in copies] == [4, 3]


def test_one_that_is_made_again_takes_the_place_of_todays(database):
    copy_daily(database, NOW, kept=2)
    say(database, "late")
    copy_daily(database, NOW, kept=2, again=True)
    assert [read_words(copy) for copy in list_copies(database.path)] == [["late"]]


def test_those_of_a_clock_that_leapt_go_first(database):
    copy_daily(database, NOW + 40 * DAY_S, kept=2)
    for day in range(2):
        copy_daily(database, NOW + day * DAY_S, kept=2)
    assert [copy.stem for copy in list_copies(database.path)] == ["w-2024-10-05", "w-2024-10-04"]


def test_a_copy_waits_for_those_who_have_the_damaged_file_open(database):
    say(database, "kept")
    copy_daily(database, NOW, kept=2)
    path = database.path
    database.close()
    overwrite_head(path)
    with (
        share_file(path, 1.0, at=name_lock(path)),
        pytest.raises(StoreUnavailableError, match="open in another process"),
    ):
        restore_last_copy(path, 0.0)
    assert describe_damage(path) == ()
    restore_last_copy(path, 0.0)
    assert read_words(path) == ["kept"]
    (told,) = describe_damage(path)
    assert "its copy of 2024-10-04 replaced it" in told
    restore_last_copy(path, 0.0)  # a sound file is left as it is
    assert describe_damage(path) == (told,)
