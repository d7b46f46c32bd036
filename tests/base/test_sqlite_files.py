"""A SQLite file is opened with a write-ahead log and brought to the newest schema once."""

from __future__ import annotations

import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from base.stores.sqlite_files import (
    SchemaError,
    connect,
    connect_read_only,
    copy_into,
    has_damage,
    is_damage,
    migrate,
    open_current,
    transaction,
)


def first(db: sqlite3.Connection) -> None:
    db.execute("CREATE TABLE thing (name TEXT)")


def second(db: sqlite3.Connection) -> None:
    db.execute("ALTER TABLE thing ADD COLUMN size INTEGER")


def refuse(db: sqlite3.Connection) -> None:
    db.execute("ALTER TABLE thing ADD COLUMN lost INTEGER")
    raise ValueError("amid it")


def columns(db: sqlite3.Connection) -> list[str]:
    return [row[1] for row in db.execute("PRAGMA table_info(thing)")]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file.db"


def test_a_file_is_made_with_a_log_and_the_settings_asked_for(path: Path):
    with closing(connect(path, settings={"auto_vacuum": "INCREMENTAL"})) as db:
        migrate(db, (first,))
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert db.execute("PRAGMA auto_vacuum").fetchone() == (2,)


def test_each_step_runs_once(path: Path):
    for steps in ((first,), (first, second), (first, second)):
        with closing(connect(path)) as db:
            migrate(db, steps)
            assert db.execute("PRAGMA user_version").fetchone() == (len(steps),)
    with closing(connect(path)) as db:
        assert columns(db) == ["name", "size"]


def test_a_step_that_fails_leaves_nothing(path: Path):
    with closing(connect(path)) as db:
        with pytest.raises(ValueError, match="amid it"):
            migrate(db, (first, refuse))
        assert columns(db) == ["name"]
        assert db.execute("PRAGMA user_version").fetchone() == (1,)
        migrate(db, (first, second))
        assert columns(db) == ["name", "size"]


def test_many_that_open_a_new_file_at_once_make_it_once(path: Path):
    def open_one(_: int) -> list[str]:
        with closing(connect(path)) as db:
            migrate(db, (first, second))
            return columns(db)

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(open_one, range(16))) == [["name", "size"]] * 16


def test_a_later_schema_and_tables_without_a_number_are_left_alone(path: Path):
    with closing(connect(path)) as db:
        migrate(db, (first, second))
        with pytest.raises(SchemaError, match="is 2, the newest known is 1"):
            migrate(db, (first,))
        db.execute("PRAGMA user_version = 0")
        with pytest.raises(SchemaError, match="no schema number"):
            migrate(db, (first,))
        assert columns(db) == ["name", "size"]


def test_what_is_opened_for_reading_is_not_written(path: Path):
    with closing(connect(path)) as db:
        migrate(db, (first,))
    with closing(connect_read_only(path)) as db:
        assert columns(db) == ["name"]
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            db.execute("INSERT INTO thing VALUES ('x')")


def test_a_file_that_is_missing_is_not_made_for_reading(path: Path):
    with pytest.raises(sqlite3.OperationalError):
        connect_read_only(path).execute("SELECT 1 FROM sqlite_master")
    assert not path.exists()


@pytest.mark.parametrize("name", [b"a%20?b#c.db", "é 東.db".encode(), b"\xff\xfe.db"])
def test_a_file_may_have_any_name(tmp_path: Path, name: bytes):
    path = tmp_path / os.fsdecode(name)
    with closing(connect(path)) as db:
        migrate(db, (first,))
        copy_into(db, f"{path}.copy")
    assert {os.fsencode(one.name) for one in tmp_path.iterdir()} == {name, name + b".copy"}
    with closing(connect_read_only(f"{path}.copy")) as db:
        assert columns(db) == ["name"]


def test_a_file_that_is_made_is_its_owners_alone(path: Path):
    with closing(open_current(path.parent / "new" / "file.db", (first, second))) as db:
        assert columns(db) == ["name", "size"]
        made = [path.parent / "new" / name for name in ("file.db", "file.db-wal")]
        assert [one.stat().st_mode & 0o777 for one in made] == [0o600, 0o600]


def test_a_file_without_a_number_has_the_first_step_where_its_table_says_so(path: Path):
    with closing(connect(path)) as db:
        first(db)
    with pytest.raises(SchemaError):
        open_current(path, (first, second))
    with closing(open_current(path, (first, second), unnumbered="thing")) as db:
        assert columns(db) == ["name", "size"]
        assert db.execute("PRAGMA user_version").fetchone() == (2,)


def test_a_transaction_that_fails_leaves_nothing(path: Path):
    with closing(open_current(path, (first,))) as db:
        with pytest.raises(ValueError, match="amid it"), transaction(db):
            refuse(db)
        assert columns(db) == ["name"]
        with transaction(db):
            db.execute("INSERT INTO thing VALUES ('kept')")
        assert db.execute("SELECT name FROM thing").fetchall() == [("kept",)]


def test_damage_is_told_from_other_failures(path: Path):
    path.write_bytes(b"no database" * 100)
    assert has_damage(path)
    with pytest.raises(sqlite3.DatabaseError) as damage:
        connect(path)
    wrapped = RuntimeError("of a store")
    wrapped.__cause__ = damage.value
    assert is_damage(damage.value)
    assert is_damage(wrapped)
    assert not is_damage(sqlite3.OperationalError("no code"))
    assert not is_damage(OSError("no cause"))
