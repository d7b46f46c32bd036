"""The journal of accepted runs, which outlives the front.

A run is accepted, then sent, then done with its first outcome. Each call returns once its changes
are on disk. Several fronts share the file. A run belongs to the front that accepted it, until that
front is dead and another adopts the run.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import trio

from base.stores import SchemaError, Step, is_damage, open_current, transaction
from fleet.cluster import ClusterError
from fleet.turns import DAY_S, estimate_retry_s

WAIT_S: Final = 10.0
"""Time limit for other fronts' transactions, each of which takes milliseconds."""

_SETTINGS: Final[Mapping[str, str | int]] = {
    "synchronous": "FULL",  # commits survive a loss of power, too
    "journal_size_limit": 64 << 20,
}
_RECENT = 8  # sendings used to estimate when to try again
_MOVE_AWAY = "Move the file away; a new one is created. The runs in it are lost."

T = TypeVar("T")

_SPEND = """
    INSERT INTO spent(owner, day, cpu_s) VALUES(?, ?, ?)
    ON CONFLICT DO UPDATE SET cpu_s = cpu_s + excluded.cpu_s"""
_COUNT_WAITING = "SELECT count(*) FROM run WHERE owner = ? AND state = 'accepted'"
_LAST_SENT = """
    SELECT sent_s FROM run WHERE owner = ? AND sent_s IS NOT NULL ORDER BY sent_s DESC LIMIT ?"""
_TABLES: Final = tuple(
    Path(__file__).with_name("journal.sql").read_text("utf-8").rstrip("\n").split("\n\n")
)
_WITHOUT_QUEUE: Final = (
    "DROP TRIGGER run_waits",
    "DROP TRIGGER run_moves",
    "DROP TABLE queue",
    # With it, 10,000 runs of an owner are counted in 0.4 ms.
    "CREATE INDEX run_waits ON run(owner) WHERE state = 'accepted'",
    "ALTER TABLE run DROP COLUMN order_sha256",
    "ALTER TABLE run DROP COLUMN not_after",
    "ALTER TABLE run DROP COLUMN accepted_s",
    "ALTER TABLE run DROP COLUMN outcome",
)
_SCHEMA: Final = (
    *(_TABLES, ("ALTER TABLE run DROP COLUMN ticket",), ("DROP TABLE dropped",)),
    _WITHOUT_QUEUE,
)


class JournalError(ClusterError):
    """The journal cannot be used, and nothing was accepted; `hint` says what to do."""


class QueueFullError(Exception):
    """An owner has the maximum of waiting runs; retry in `retry_s` seconds."""

    def __init__(self, owner: str, queued: int, retry_s: float) -> None:
        super().__init__(
            f"{queued} runs of {owner!r} wait, which is the limit; try again in {retry_s:.0f} s"
        )
        self.retry_s = retry_s


class Journal:
    """The open journal of one front, used from one trio loop."""

    def __init__(self, path: Path, front: str, clock: Callable[[], float] = time.time) -> None:
        """Open the file; create or migrate it if needed.

        Raises:
            JournalError: it is damaged, of a later release, or cannot be opened.
        """
        self.path = path
        self._front = front
        self._clock = clock
        with _translated(path):
            self._db = open_current(path, STEPS, wait_s=WAIT_S, settings=_SETTINGS)
        # One thread at a time: with two, Python 3.12 or later may give one the row of the other,
        # and uncommitted data could be read.
        self._one = trio.CapacityLimiter(1)

    def close(self) -> None:
        """Close the file; its runs stay in it."""
        self._db.close()

    async def accept(self, run: str, owner: str, order: bytes, queued_max: int) -> None:
        """Store a new run with the bytes of its order.

        Raises:
            QueueFullError: the owner has that many waiting runs already.
            JournalError: the ID is in use, or the file cannot be written.
        """
        now_s = self._clock()

        def write(db: sqlite3.Connection) -> None:
            (queued,) = db.execute(_COUNT_WAITING, (owner,)).fetchone()
            if queued >= queued_max:
                sent = db.execute(_LAST_SENT, (owner, _RECENT))
                retry_s = estimate_retry_s([sent_s for (sent_s,) in sent], now_s)
                raise QueueFullError(owner, queued, retry_s)
            db.execute(
                "INSERT INTO run(id, front, owner, state, order_bytes)"
                " VALUES(?, ?, ?, 'accepted', ?)",
                (run, self._front, owner, order),
            )

        await self._write(write)

    async def note_sent(self, run: str) -> None:
        """Note that the engine has a run. A run that is done stays done.

        Raises:
            JournalError: nothing can be written.
        """
        now_s = self._clock()
        await self._write(
            lambda db: db.execute(
                "UPDATE run SET state = 'sent', sent_s = ? WHERE id = ? AND state <> 'done'",
                (now_s, run),
            )
        )

    async def note_lost(self, run: str) -> int:
        """Note that a run waits again because its worker was lost; return how often that happened.

        Raises:
            JournalError: there is no unfinished run with this ID, or the file cannot be written.
        """

        def write(db: sqlite3.Connection) -> int:
            found = db.execute(
                "UPDATE run SET state = 'accepted', lost = lost + 1 WHERE id = ?"
                " AND state <> 'done' RETURNING lost",
                (run,),
            ).fetchall()
            if not found:
                raise JournalError(f"run {run} is not in progress")
            return int(found[0][0])

        return await self._write(write)

    async def finish(self, run: str, cpu_s: float = 0.0) -> bool:
        """Note that a run has its outcome, and its CPU seconds; return whether it is the first
        outcome.

        Raises:
            JournalError: nothing can be written.
        """
        now_s = self._clock()

        def write(db: sqlite3.Connection) -> bool:
            owners = db.execute(
                "UPDATE run SET state = 'done', done_s = ?, order_bytes = NULL"
                " WHERE id = ? AND state <> 'done' RETURNING owner",
                (now_s, run),
            ).fetchall()
            for (owner,) in owners:
                db.execute(_SPEND, (owner, int(now_s // DAY_S), cpu_s))
            return bool(owners)

        return await self._write(write)

    async def adopt(self, is_alive: Callable[[str], bool]) -> Mapping[str, bool]:
        """Take over the runs of dead fronts, in the order of acceptance, and return by ID whether
        each was sent. Of two fronts that ask at once, one gets them.

        Raises:
            JournalError: the file cannot be written.
        """

        def write(db: sqlite3.Connection) -> Mapping[str, bool]:
            fronts = db.execute("SELECT DISTINCT front FROM run WHERE state <> 'done'").fetchall()
            dead = [one for (one,) in fronts if one != self._front and not is_alive(one)]
            of_dead = f"state <> 'done' AND front IN ({','.join('?' * len(dead))})"
            rows = db.execute(
                f"SELECT id, state = 'sent' FROM run WHERE {of_dead} ORDER BY sequence",  # noqa: S608 - marks
                dead,
            ).fetchall()
            db.execute(f"UPDATE run SET front = ? WHERE {of_dead}", (self._front, *dead))  # noqa: S608 - as above
            return {run: bool(is_sent) for run, is_sent in rows}

        return await self._write(write)

    async def read_order(self, run: str) -> bytes | None:
        """Return the order of an unfinished run; None for any other."""
        rows = await self._read("SELECT order_bytes FROM run WHERE id = ?", run)
        found = rows[0][0] if rows else None
        return found if isinstance(found, bytes) else None

    async def read_spent(self, day: int) -> Mapping[str, float]:
        """Return each owner's CPU seconds on a day, by its number since the epoch."""
        rows = await self._read("SELECT owner, cpu_s FROM spent WHERE day = ?", day)
        return {str(owner): float(str(cpu_s)) for owner, cpu_s in rows}

    async def prune(self, before_s: float) -> None:
        """Delete runs that were done before a time, and nothing else.

        Raises:
            JournalError: nothing can be written.
        """

        def write(db: sqlite3.Connection) -> None:
            db.execute("DELETE FROM spent WHERE day < ?", (int(before_s // DAY_S),))
            db.execute("DELETE FROM run WHERE state = 'done' AND done_s < ?", (before_s,))

        await self._write(write)

    async def _write(self, do: Callable[[sqlite3.Connection], T]) -> T:
        """Do a write in its own transaction, and return its result once that is on disk.

        A write is not cancelled: its caller must know the result.
        """

        def commit() -> T:
            with transaction(self._db) as db:
                return do(db)

        with _translated(self.path), trio.CancelScope(shield=True):
            written = await trio.to_thread.run_sync(commit, limiter=self._one)
        return written  # noqa: RET504 - a scope may swallow, mypy says

    async def _read(self, query: str, *given: str | int) -> list[tuple[object, ...]]:
        with _translated(self.path):
            return await trio.to_thread.run_sync(
                lambda: self._db.execute(query, given).fetchall(), limiter=self._one
            )


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except (SchemaError, sqlite3.Error) as error:
        raise JournalError(f"{path}: {error}", _MOVE_AWAY if is_damage(error) else "") from error
    except OSError as error:
        raise JournalError(f"{path}: {error.strerror or error}") from error


def _execute(statements: Iterable[str], db: sqlite3.Connection) -> None:
    for statement in statements:
        db.execute(statement)


STEPS: Final[tuple[Step, ...]] = tuple(partial(_execute, one) for one in _SCHEMA)
