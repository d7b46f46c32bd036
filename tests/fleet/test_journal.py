"""The journal keeps accepted runs, whether they are done, and what dead fronts left."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing

import pytest
import trio

from base.stores import sqlite_files
from fleet.journal import (
    _COUNT_WAITING,
    STEPS,
    Journal,
    JournalError,
    QueueFullError,
)
from fleet.turns import RETRY_S_UNKNOWN
from tests.fleet.journals import count

PLENTY = 1_000


class Clock:
    def __init__(self) -> None:
        self.now_s = 1_000_000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "fleet" / "journal.sqlite3"


@pytest.fixture
def journal(path, clock):
    with closing(Journal(path, "here", clock)) as journal:
        yield journal


def a_run(run: str = "r1", owner: str = "alice", order: bytes = b"order") -> tuple[str, str, bytes]:
    return run, owner, order


def dead(_: str) -> bool:
    return False


async def test_a_run_goes_from_accepted_by_sent_to_done(journal):
    await journal.accept(*a_run(), PLENTY)
    assert await count(journal) == {("alice", "accepted"): 1}
    await journal.note_sent("r1")
    assert await count(journal) == {("alice", "sent"): 1}
    assert await journal.read_order("r1") == b"order"
    assert await journal.finish("r1")
    assert await count(journal) == {("alice", "done"): 1}
    assert await journal.read_order("r1") is None


async def test_the_orders_that_are_read_at_once_are_read_by_one_thread_at_a_time(journal):
    """Python's `sqlite3` may give one thread what another asked for."""
    for number in range(20):
        await journal.accept(*a_run(f"r{number}", order=b"order %d" % number), PLENTY)
    reading, most, found = journal._db, [], {}

    class Watched:
        inside = 0

        def execute(self, *given: object) -> sqlite3.Cursor:
            self.inside += 1
            most.append(self.inside)
            time.sleep(0.005)  # a query that takes a while
            try:
                return reading.execute(*given)
            finally:
                self.inside -= 1

    async def read(run: str) -> None:
        found[run] = await journal.read_order(run)

    journal._db = Watched()
    try:
        async with trio.open_nursery() as nursery:
            for number in range(20):
                nursery.start_soon(read, f"r{number}")
    finally:
        journal._db = reading
    assert found == {f"r{number}": b"order %d" % number for number in range(20)}
    assert max(most) == 1


async def test_the_first_outcome_of_a_run_is_told_from_others(journal):
    await journal.accept(*a_run(), PLENTY)
    assert [await journal.finish("r1") for _ in range(3)] == [True, False, False]
    assert await journal.finish("nobody's") is False


async def test_of_outcomes_that_come_at_once_one_is_the_first(journal):
    await journal.accept(*a_run(), PLENTY)
    received = []

    async def finish():
        received.append(await journal.finish("r1"))

    async with trio.open_nursery() as nursery:
        for _ in range(50):
            nursery.start_soon(finish)
    assert (received.count(True), received.count(False)) == (1, 49)


async def test_a_second_run_of_an_id_is_refused_and_the_first_stays(journal):
    await journal.accept(*a_run(), PLENTY)
    for order in (b"order", b"other"):
        with pytest.raises(JournalError, match=r"run\.id"):
            await journal.accept(*a_run(order=order), PLENTY)
    assert await journal.read_order("r1") == b"order"
    await journal.finish("r1")
    with pytest.raises(JournalError, match=r"run\.id"):
        await journal.accept(*a_run(), PLENTY)
    assert await count(journal) == {("alice", "done"): 1}


async def test_what_an_engine_says_of_a_run_that_is_done_changes_nothing(journal):
    await journal.accept(*a_run(), PLENTY)
    await journal.finish("r1")
    await journal.note_sent("r1")
    with pytest.raises(JournalError, match="run r1 is not in progress"):
        await journal.note_lost("r1")
    assert await count(journal) == {("alice", "done"): 1}


async def test_losses_are_counted_across_a_restart(journal, path):
    await journal.accept(*a_run(), PLENTY)
    assert await journal.note_lost("r1") == 1
    await journal.note_sent("r1")
    assert await journal.note_lost("r1") == 2
    with closing(Journal(path, "next")) as after:
        assert await after.adopt(dead) == {"r1": False}
        assert await after.note_lost("r1") == 3


async def test_beyond_its_queue_an_owner_is_refused_and_others_are_not(journal, clock):
    for number in range(3):
        await journal.accept(*a_run(f"r{number}"), 3)
    with pytest.raises(QueueFullError, match="3 runs of 'alice' wait") as caught:
        await journal.accept(*a_run("r3"), 3)
    assert caught.value.retry_s == RETRY_S_UNKNOWN
    await journal.accept(*a_run("b0", "bob"), 3)
    await journal.note_sent("r0")
    clock.now_s += 40
    await journal.accept(*a_run("r3"), 3)
    with pytest.raises(QueueFullError) as caught:
        await journal.accept(*a_run("r4"), 3)
    assert caught.value.retry_s == 40


async def test_runs_that_are_asked_for_at_once_do_not_pass_the_limit(journal):
    refused = []

    async def accept(number):
        try:
            await journal.accept(*a_run(f"r{number}"), 10)
        except QueueFullError:
            refused.append(number)

    async with trio.open_nursery() as nursery:
        for number in range(50):
            nursery.start_soon(accept, number)
    assert len(refused) == 40
    assert await count(journal) == {("alice", "accepted"): 10}


async def test_fronts_that_share_the_file_share_the_limit_and_lose_nothing(journal, path):
    kept, refused = set(), []

    async def accept(front, run):
        try:
            await front.accept(*a_run(run), 30)
        except (QueueFullError, JournalError) as error:
            refused.append(error)
        else:
            assert run not in kept  # each was new once
            kept.add(run)

    with closing(Journal(path, "other")) as other:
        async with trio.open_nursery() as nursery:
            for number in range(40):
                nursery.start_soon(accept, (journal, other)[number % 2], f"r{number % 20}")
                nursery.start_soon(accept, (journal, other)[number % 2], f"s{number}")
        assert len(kept) == 30
        assert len(refused) == 50
        ours = (await other.adopt(dead)).keys()
        assert (await journal.adopt(dead)).keys() == kept >= ours


async def test_the_queues_length_is_the_number_of_runs_that_wait(journal, clock):
    for number in range(6):
        await journal.accept(*a_run(f"r{number}", "ab"[number % 2]), PLENTY)
    for run in ("r0", "r0", "r1", "r2"):
        await journal.note_sent(run)
    for run in ("r1", "r1", "r3"):
        await journal.note_lost(run)
    for run in ("r2", "r3", "r3"):
        await journal.finish(run)
    await journal.prune(clock.now_s + 1)
    for owner, waiting in (("a", 1), ("b", 2)):
        with pytest.raises(QueueFullError, match=f"{waiting} runs of '{owner}' wait"):
            await journal.accept(*a_run("next", owner), waiting)


def test_the_runs_that_wait_are_counted_by_an_index(journal):
    (plan,) = journal._db.execute(f"EXPLAIN QUERY PLAN {_COUNT_WAITING}", ("a",))
    assert plan[-1].endswith("INDEX run_waits (owner=?)")  # covering or not


@pytest.mark.parametrize("steps", range(1, len(STEPS)))
async def test_a_journal_of_an_earlier_release_keeps_its_runs(path, steps):
    path.parent.mkdir()
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        sqlite_files.migrate(db, STEPS[:steps])
        for run, state in (("r1", "accepted"), ("r2", "sent"), ("r3", "done")):
            db.execute(
                "INSERT INTO run(id, front, owner, state, order_sha256, order_bytes, not_after,"
                " accepted_s, done_s) VALUES(?, 'gone', 'alice', ?, x'00', ?, 2e6, 1.0, 2.0)",
                (run, state, run.encode()),
            )
    with closing(Journal(path, "here")) as journal:
        assert await journal.adopt(dead) == {"r1": False, "r2": True}
        assert await journal.read_order("r1") == b"r1"
        with pytest.raises(QueueFullError, match="1 runs"):
            await journal.accept(*a_run("r4"), 1)


async def test_a_dead_fronts_runs_are_adopted_once_in_their_order(journal, path, clock):
    for name in ("r2", "r1", "r3", "r4"):
        await journal.accept(*a_run(name), PLENTY)
    await journal.note_sent("r1")
    await journal.finish("r3")
    with closing(Journal(path, "next")) as after, closing(Journal(path, "third")) as third:
        assert await after.adopt(lambda front: front == "here") == {}
        left = await after.adopt(dead)
        assert list(left.items()) == [("r2", False), ("r1", True), ("r4", False)]
        assert await third.adopt(lambda front: front == "next") == {}
        assert await after.adopt(dead) == {}  # its own are no longer left
        assert await after.read_order("r2") == b"order"
        assert await after.read_order("r3") is None


async def test_processor_time_is_kept_by_owner_and_day(journal, clock):
    day = int(clock.now_s // 86_400)
    for number, (owner, cpu_s) in enumerate([("alice", 1.5), ("alice", 2.0), ("bob", 4.0)]):
        await journal.accept(*a_run(f"r{number}", owner), PLENTY)
        await journal.finish(f"r{number}", cpu_s)
        await journal.finish(f"r{number}", 100.0)
    assert await journal.read_spent(day) == {"alice": 3.5, "bob": 4.0}
    assert await journal.read_spent(day + 1) == {}


async def test_pruning_forgets_what_was_done_before_and_nothing_else(journal, clock):
    for name in ("old", "new", "waiting"):
        await journal.accept(*a_run(name), PLENTY)
    await journal.finish("old", 1.0)
    clock.now_s += 2 * 86_400
    await journal.finish("new", 1.0)
    await journal.prune(clock.now_s - 1)
    assert await count(journal) == {("alice", "done"): 1, ("alice", "accepted"): 1}
    assert await journal.read_spent(int(clock.now_s // 86_400)) == {"alice": 1.0}
    assert await journal.finish("old") is False


async def test_what_is_acknowledged_was_synced(journal, path):
    assert journal._db.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
    assert journal._db.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_nobody_else_reads_the_file(journal, path):
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"not a database" * 100, "not a database"), ("later", "schema is 99"), ("folder", "open")],
)
def test_a_file_that_is_no_journal_is_told_and_left(path, content, message):
    path.parent.mkdir()
    if content == "later":
        with closing(sqlite3.connect(path)) as db:
            db.execute("PRAGMA user_version = 99")
    elif content == "folder":
        path.mkdir()
    else:
        path.write_bytes(content)
    with pytest.raises(JournalError, match=message) as caught, closing(Journal(path, "here")):
        pass
    assert path.exists()
    if isinstance(content, bytes):
        assert "Move the file away" in caught.value.hint
        assert path.read_bytes() == content


async def test_a_cancelled_caller_still_learns_what_became_of_its_write(journal):
    with trio.CancelScope() as scope:
        scope.cancel()
        await journal.accept(*a_run(), PLENTY)
    assert await count(journal) == {("alice", "accepted"): 1}


class FullDisk(sqlite3.Connection):
    def execute(self, sql, *given):
        if sql.lstrip().startswith("INSERT INTO spent"):
            raise sqlite3.OperationalError("disk I/O error")
        return super().execute(sql, *given)


async def test_of_a_write_that_fails_halfway_nothing_is_left(journal, path):
    await journal.accept(*a_run(), PLENTY)
    writing = journal._db
    journal._db = sqlite3.connect(
        path, isolation_level=None, check_same_thread=False, factory=FullDisk
    )
    with closing(journal._db), pytest.raises(JournalError, match="disk I/O error"):
        await journal.finish("r1")
    journal._db = writing
    assert await count(journal) == {("alice", "accepted"): 1}
    assert await journal.finish("r1") is True


async def test_writes_that_come_at_once_each_return_their_own(journal):
    for number in range(20):
        await journal.accept(*a_run(f"r{number}"), PLENTY)
    came: dict[int, bool] = {}

    async def finish(number: int) -> None:
        came[number] = await journal.finish(f"r{number % 20}")

    async with trio.open_nursery() as nursery:
        for number in range(40):
            nursery.start_soon(finish, number)
    assert sum(came.values()) == 20
    assert await count(journal) == {("alice", "done"): 20}
