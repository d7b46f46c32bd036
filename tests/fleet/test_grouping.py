"""Writes of many tasks are committed together, and stand or fall each for itself."""

from __future__ import annotations

import sqlite3

import pytest
import trio

from base.sqlite_files import connect
from fleet.grouping import GROUP_MAX, GroupedWriter


class UnwantedError(Exception):
    pass


@pytest.fixture
def db(tmp_path):
    db = connect(tmp_path / "file.sqlite3")
    db.execute("CREATE TABLE number(n INTEGER PRIMARY KEY CHECK(n >= 0)) STRICT")
    yield db
    db.close()


def add(n: int):
    def write(db: sqlite3.Connection) -> int:
        db.execute("INSERT INTO number VALUES(?)", (n,))
        return n

    return write


def numbers(db: sqlite3.Connection) -> list[int]:
    return [n for (n,) in db.execute("SELECT n FROM number ORDER BY n")]


async def write_all(db, writes) -> dict[int, object]:
    """Do writes at once; what each returned or raised, by its place."""
    writer, came = GroupedWriter(db), {}

    async def run(place, do):
        try:
            came[place] = await writer.write(do)
        except Exception as error:
            came[place] = error

    async with trio.open_nursery() as nursery:
        for place, do in enumerate(writes):
            nursery.start_soon(run, place, do)
    return came


async def test_each_caller_gets_what_its_own_write_returned(db):
    count = 3 * GROUP_MAX
    assert await write_all(db, map(add, range(count))) == {n: n for n in range(count)}
    assert numbers(db) == list(range(count))


async def test_writes_that_come_during_a_commit_share_the_next(db):
    statements = []
    db.set_trace_callback(statements.append)
    await write_all(db, map(add, range(2 * GROUP_MAX)))
    assert statements.count("COMMIT") <= 4


async def test_a_write_that_raises_leaves_nothing_and_the_others_stand(db):
    def half(db: sqlite3.Connection) -> None:
        add(100)(db)
        raise UnwantedError

    came = await write_all(db, [add(1), half, add(2), add(-1), add(1), add(3)])
    assert [type(came[place]) for place in (1, 3)] == [UnwantedError, sqlite3.IntegrityError]
    # Tasks begin in any order: one of the two that add the same number is the first.
    assert {type(came[place]) for place in (0, 4)} == {int, sqlite3.IntegrityError}
    assert (came[2], came[5]) == (2, 3)
    assert numbers(db) == [1, 2, 3]


async def test_where_nothing_can_be_committed_everybody_is_told(db):
    db.execute("PRAGMA query_only = ON")
    came = await write_all(db, [add(1), add(2)])
    assert [type(one) for one in came.values()] == 2 * [sqlite3.OperationalError]
    db.execute("PRAGMA query_only = OFF")
    assert await write_all(db, [add(3)]) == {0: 3}
    assert numbers(db) == [3]


class FullDisk(sqlite3.Connection):
    def execute(self, sql, *given):
        if sql in {"COMMIT", "ROLLBACK"}:
            raise sqlite3.OperationalError("disk I/O error")
        return super().execute(sql, *given)


async def test_nothing_is_acknowledged_where_not_even_undoing_works(db, tmp_path):
    path = tmp_path / "file.sqlite3"
    broken = sqlite3.connect(path, isolation_level=None, check_same_thread=False, factory=FullDisk)
    came = await write_all(broken, [add(1), add(2)])
    came |= {2: (await write_all(broken, [add(3)]))[0]}
    broken.close()
    assert [type(one) for one in came.values()] == 3 * [sqlite3.OperationalError]
    assert numbers(db) == []


async def test_a_transaction_that_sqlite_undid_is_told_to_all_of_its_group(db):
    def undone(db: sqlite3.Connection) -> None:
        db.execute("ROLLBACK")
        raise UnwantedError

    came = await write_all(db, [add(1), add(2), undone, add(3)])
    assert [type(one) for one in came.values()] == 4 * [UnwantedError]
    assert numbers(db) == []


async def test_a_cancelled_caller_still_learns_what_became_of_its_write(db):
    with trio.CancelScope() as scope:
        scope.cancel()
        came = await GroupedWriter(db).write(add(1))
    assert (came, numbers(db)) == (1, [1])
