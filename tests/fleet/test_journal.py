"""The journal keeps accepted runs, their first outcomes, and what dead fronts left."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing

import pytest
import trio

from fleet.journal import (
    OUTCOME_BYTES_MAX,
    Accepted,
    Journal,
    JournalError,
    Left,
    QueueFullError,
    Received,
    State,
)
from fleet.turns import RETRY_S_UNKNOWN
from tests.fleet.journals import count, read_outcome

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


def a_run(run: str = "r1", owner: str = "alice", order: bytes = b"order") -> Accepted:
    return Accepted(run, owner, order, not_after=2e6)


def dead(_: str) -> bool:
    return False


async def test_a_run_goes_from_accepted_by_sent_to_done(journal):
    assert await journal.accept(a_run(), PLENTY)
    assert await count(journal) == {("alice", State.ACCEPTED): 1}
    await journal.note_sent("r1")
    assert await count(journal) == {("alice", State.SENT): 1}
    assert (await journal.read_order("r1"), await read_outcome(journal, "r1")) == (b"order", None)
    assert await journal.finish("r1", b"outcome") is Received.FIRST
    assert await count(journal) == {("alice", State.DONE): 1}
    assert (await journal.read_order("r1"), await read_outcome(journal, "r1")) == (None, b"outcome")


async def test_the_orders_that_are_read_at_once_are_read_by_one_thread_at_a_time(journal):
    """Python's `sqlite3` may give one thread what another asked for."""
    for number in range(20):
        await journal.accept(a_run(f"r{number}", order=b"order %d" % number), PLENTY)
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


async def test_the_first_outcome_stands_and_others_are_dropped(journal):
    await journal.accept(a_run(), PLENTY)
    received = [await journal.finish("r1", outcome) for outcome in (b"1", b"2", b"1")]
    assert received == [Received.FIRST, Received.SECOND, Received.SECOND]
    assert await journal.finish("nobody's", b"3") is Received.UNKNOWN
    assert await read_outcome(journal, "r1") == b"1"


async def test_of_outcomes_that_come_at_once_one_is_the_first(journal):
    await journal.accept(a_run(), PLENTY)
    received = {}

    async def finish(outcome):
        received[outcome] = await journal.finish("r1", outcome)

    async with trio.open_nursery() as nursery:
        for number in range(50):
            nursery.start_soon(finish, b"%d" % number)
    (first,) = (one for one, how in received.items() if how is Received.FIRST)
    assert await read_outcome(journal, "r1") == first
    assert list(received.values()).count(Received.SECOND) == 49


async def test_the_same_run_again_is_joined_and_another_under_its_id_refused(journal):
    assert await journal.accept(a_run(), PLENTY)
    assert not await journal.accept(a_run(), PLENTY)
    with pytest.raises(JournalError, match="another order"):
        await journal.accept(a_run(order=b"other"), PLENTY)
    await journal.finish("r1", b"outcome")
    assert not await journal.accept(a_run(), PLENTY)
    assert await read_outcome(journal, "r1") == b"outcome"


async def test_what_an_engine_says_of_a_run_that_is_done_changes_nothing(journal):
    await journal.accept(a_run(), PLENTY)
    await journal.finish("r1", b"outcome")
    await journal.note_sent("r1")
    with pytest.raises(JournalError, match="no run r1"):
        await journal.note_lost("r1")
    assert await count(journal) == {("alice", State.DONE): 1}


async def test_losses_are_counted_across_a_restart(journal, path):
    await journal.accept(a_run(), PLENTY)
    assert await journal.note_lost("r1") == 1
    await journal.note_sent("r1")
    assert await journal.note_lost("r1") == 2
    with closing(Journal(path, "next")) as after:
        assert await after.adopt(dead) == (Left("r1", "alice", State.ACCEPTED, 2e6, lost=2),)
        assert await after.note_lost("r1") == 3


async def test_beyond_its_queue_an_owner_is_refused_and_others_are_not(journal, clock):
    for number in range(3):
        await journal.accept(a_run(f"r{number}"), 3)
    with pytest.raises(QueueFullError, match="3 runs of 'alice' wait") as caught:
        await journal.accept(a_run("r3"), 3)
    assert caught.value.retry_s == RETRY_S_UNKNOWN
    assert await journal.accept(a_run("b0", "bob"), 3)
    assert not await journal.accept(a_run("r2"), 3)  # which it is already
    await journal.note_sent("r0")
    clock.now_s += 40
    assert await journal.accept(a_run("r3"), 3)
    with pytest.raises(QueueFullError) as caught:
        await journal.accept(a_run("r4"), 3)
    assert caught.value.retry_s == 40


async def test_runs_that_are_asked_for_at_once_do_not_pass_the_limit(journal):
    refused = []

    async def accept(number):
        try:
            await journal.accept(a_run(f"r{number}"), 10)
        except QueueFullError:
            refused.append(number)

    async with trio.open_nursery() as nursery:
        for number in range(50):
            nursery.start_soon(accept, number)
    assert len(refused) == 40
    assert await count(journal) == {("alice", State.ACCEPTED): 10}


async def test_fronts_that_share_the_file_share_the_limit_and_lose_nothing(journal, path):
    came = []

    async def accept(front, run):
        try:
            came.append((run, await front.accept(a_run(run), 30)))
        except QueueFullError:
            came.append((run, None))

    with closing(Journal(path, "other")) as other:
        async with trio.open_nursery() as nursery:
            for number in range(40):
                nursery.start_soon(accept, (journal, other)[number % 2], f"r{number % 20}")
                nursery.start_soon(accept, (journal, other)[number % 2], f"s{number}")
        kept = {run for run, is_new in came if is_new}
        assert len(kept) == 30
        assert sum(is_new is True for _, is_new in came) == 30  # each was new once
        ours = {one.run for one in await other.adopt(dead)}
        assert {one.run for one in await journal.adopt(dead)} == kept >= ours


async def test_the_queues_length_is_the_number_of_runs_that_wait(journal, clock):
    for number in range(6):
        await journal.accept(a_run(f"r{number}", "ab"[number % 2]), PLENTY)
    for run in ("r0", "r0", "r1", "r2"):
        await journal.note_sent(run)
    for run in ("r1", "r1", "r3"):
        await journal.note_lost(run)
    for run in ("r2", "r3", "r3"):
        await journal.finish(run, b"")
    await journal.prune(clock.now_s + 1)
    waiting = {
        owner: n for (owner, state), n in (await count(journal)).items() if state == "accepted"
    }
    assert dict(journal._db.execute("SELECT * FROM queue")) == waiting == {"a": 1, "b": 2}


async def test_a_dead_fronts_runs_are_adopted_once_in_their_order(journal, path, clock):
    for name in ("r2", "r1", "r3", "r4"):
        await journal.accept(a_run(name), PLENTY)
    await journal.note_sent("r1")
    await journal.finish("r3", b"outcome")
    with closing(Journal(path, "next")) as after, closing(Journal(path, "third")) as third:
        assert await after.adopt(lambda front: front == "here") == ()
        left = await after.adopt(dead)
        assert [(one.run, one.state) for one in left] == [
            ("r2", State.ACCEPTED),
            ("r1", State.SENT),
            ("r4", State.ACCEPTED),
        ]
        assert await third.adopt(lambda front: front == "next") == ()
        assert await after.adopt(dead) == ()  # its own are no longer left
        assert await after.read_order("r2") == b"order"
        assert await read_outcome(after, "r3") == b"outcome"


async def test_processor_time_is_kept_by_owner_and_day(journal, clock):
    day = int(clock.now_s // 86_400)
    for number, (owner, cpu_s) in enumerate([("alice", 1.5), ("alice", 2.0), ("bob", 4.0)]):
        await journal.accept(a_run(f"r{number}", owner), PLENTY)
        await journal.finish(f"r{number}", b"", cpu_s)
        await journal.finish(f"r{number}", b"", 100.0)
    assert await journal.read_spent(day) == {"alice": 3.5, "bob": 4.0}
    assert await journal.read_spent(day + 1) == {}


async def test_pruning_forgets_what_was_done_before_and_nothing_else(journal, clock):
    for name in ("old", "new", "waiting"):
        await journal.accept(a_run(name), PLENTY)
    await journal.finish("old", b"", 1.0)
    clock.now_s += 2 * 86_400
    await journal.finish("new", b"", 1.0)
    assert await journal.prune(clock.now_s - 1) == 1
    assert await count(journal) == {("alice", State.DONE): 1, ("alice", State.ACCEPTED): 1}
    assert await journal.read_spent(int(clock.now_s // 86_400)) == {"alice": 1.0}
    assert await journal.finish("old", b"") is Received.UNKNOWN


async def test_a_hostile_outcome_is_kept_from_the_file(journal):
    await journal.accept(a_run(), PLENTY)
    with pytest.raises(JournalError, match="too many"):
        await journal.finish("r1", bytes(OUTCOME_BYTES_MAX + 1))
    assert await journal.finish("r1", bytes(OUTCOME_BYTES_MAX)) is Received.FIRST


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
        assert await journal.accept(a_run(), PLENTY)
    assert await count(journal) == {("alice", State.ACCEPTED): 1}


class FullDisk(sqlite3.Connection):
    def execute(self, sql, *given):
        if sql.lstrip().startswith("INSERT INTO spent"):
            raise sqlite3.OperationalError("disk I/O error")
        return super().execute(sql, *given)


async def test_of_a_write_that_fails_halfway_nothing_is_left(journal, path):
    await journal.accept(a_run(), PLENTY)
    writing = journal._db
    journal._db = sqlite3.connect(
        path, isolation_level=None, check_same_thread=False, factory=FullDisk
    )
    with closing(journal._db), pytest.raises(JournalError, match="disk I/O error"):
        await journal.finish("r1", b"outcome")
    journal._db = writing
    assert await count(journal) == {("alice", State.ACCEPTED): 1}
    assert await journal.finish("r1", b"outcome") is Received.FIRST


async def test_writes_that_come_at_once_each_return_their_own(journal):
    came: dict[int, bool] = {}

    async def accept(number: int) -> None:
        came[number] = await journal.accept(a_run(f"r{number % 20}"), PLENTY)

    async with trio.open_nursery() as nursery:
        for number in range(40):
            nursery.start_soon(accept, number)
    assert sum(came.values()) == 20
    assert await count(journal) == {("alice", State.ACCEPTED): 20}
