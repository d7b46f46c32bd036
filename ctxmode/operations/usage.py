"""Usage counts: bytes that agents' calls produced, and bytes returned to their context.

produced  output of programs and text of fetched pages, shown or stored
returned  the text of the answer, as sent

A project's counts are those of all its servers, in one small database next to its store, with the
latest runs (`run_records`). Figures computed from them are in `figures`.
"""

from __future__ import annotations

import contextlib
import logging
import operator
import os
import sqlite3
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from pathlib import Path

import trio

from base.stores import NO_SETTINGS, SchemaError, Step, connect_read_only, open_current
from ctxmode.operations.run_records import RunRecord, add_refused_run, add_run
from executor import Refusal

# `usage` counts calls by day and tool. `run` has one row for each of the latest runs, without text:
# programs and output are in the audit log and in the store. `refusal` has the sandbox's refusals,
# secrets masked.


def _create(db: sqlite3.Connection, number: int) -> None:
    """Create the table of a step, from usage.sql."""
    statements = Path(__file__).with_suffix(".sql").read_text("utf-8").split(";")
    db.execute(statements[number])


def create_usage_table(db: sqlite3.Connection) -> None:
    """Create the table of call counts."""
    _create(db, 0)


def create_run_table(db: sqlite3.Connection) -> None:
    """Create the table of the latest runs."""
    _create(db, 1)
    db.execute("CREATE INDEX run_status ON run (status, id)")


def create_refusal_table(db: sqlite3.Connection) -> None:
    """Create the table of refusals."""
    _create(db, 2)
    db.execute("CREATE INDEX refusal_run ON refusal (run)")


STEPS: tuple[Step, ...] = (create_usage_table, create_run_table, create_refusal_table)


def open_usage(
    path: Path, *, wait_s: float, settings: Mapping[str, str | int] = NO_SETTINGS
) -> sqlite3.Connection:
    """Open the file; create or migrate it if needed. Files of the first release have counts and no
    schema number.

    Raises:
        sqlite3.Error: as SQLite reports it.
        SchemaError: a later release wrote the file.
        OSError: it cannot be created.
    """
    return open_current(path, STEPS, wait_s=wait_s, settings=settings, unnumbered="usage")


BUSY_TIMEOUT_S = 5.0
DAY_S = 86_400
SHARE_OF_PATIENT_ONES = 256
"""Number of counts after which one uses its own connection, which checkpoints the file's log."""

_ADD = """
    INSERT INTO usage VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (day, tool) DO UPDATE SET
        calls = calls + excluded.calls, errors = errors + excluded.errors,
        produced = produced + excluded.produced, returned = returned + excluded.returned"""


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of calls and failed calls, and bytes."""

    calls: int = 0
    errors: int = 0
    produced: int = 0
    returned: int = 0

    @property
    def kept(self) -> int:
        """Bytes that stayed out of the context; negative if answers were longer than the output."""
        return self.produced - self.returned

    @property
    def reduction(self) -> float | None:
        """The share of produced bytes that was kept, from 0 to 1; None if nothing was produced."""
        return max(self.kept, 0) / self.produced if self.produced else None

    def __add__(self, other: Counts) -> Counts:
        return Counts(*map(operator.add, astuple(self), astuple(other)))

    def to_json(self) -> dict[str, int | float | None]:
        return asdict(self) | {"kept": self.kept, "reduction": self.reduction}


Counted = tuple[str, Counts] | RunRecord
"""A tool with its counts, or a run."""
NO_REFUSALS: Sequence[Refusal] = ()


def record(path: Path, one: Counted, refusals: Sequence[Refusal] = NO_REFUSALS) -> None:
    """Add one call, or a run with its refusals; wait for other servers of the project. Raise
    sqlite3.Error or SchemaError if that fails."""
    with contextlib.closing(open_usage(path, wait_s=BUSY_TIMEOUT_S)) as db:
        _add(db, one, refusals)


class Recorder:
    """Writer of calls and runs through a connection that stays open, because opening one takes
    longer than most runs. Rows are visible to others at once, and survive a kill."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._db: sqlite3.Connection | None = None
        self._file: os.stat_result | None = None
        self._added = 0

    async def count(self, one: Counted, refusals: Sequence[Refusal] = NO_REFUSALS) -> None:
        """Add one call or run; if it cannot be written, log that."""
        try:
            if not self.add(one, refusals):
                await trio.to_thread.run_sync(record, self._path, one, refusals)
        except (sqlite3.Error, SchemaError, OSError) as error:
            # The call of a run is counted in the same file, and logs the same error.
            is_run = isinstance(one, RunRecord)
            level, what = (logging.INFO, "run") if is_run else (logging.WARNING, "call")
            logging.getLogger(__name__).log(level, "a %s was not counted: %s", what, error)

    def add(self, one: Counted, refusals: Sequence[Refusal] = NO_REFUSALS) -> bool:
        """Add a row and return True; return False if the caller must use `record`, which waits.

        Raises:
            sqlite3.Error, SchemaError: the counts cannot be written.
            OSError: the file's folder is missing.
        """
        self._added += 1
        if self._added % SHARE_OF_PATIENT_ONES == 0:
            return False
        try:
            _add(self._current(), one, refusals)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise
            return False
        return True

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        if self._db is not None:
            self._db.close()
            self._db = None

    def _current(self) -> sqlite3.Connection:
        """Return the connection to the current file; the user may have removed an older one."""
        if self._db is not None and self._file is not None:
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(self._file, os.stat(self._path)):
                    return self._db
        self.close()
        db = open_usage(self._path, wait_s=0, settings={"wal_autocheckpoint": 0})
        try:
            self._file = os.stat(self._path)
        except BaseException:
            db.close()
            raise
        self._db = db
        return db


def _add(db: sqlite3.Connection, one: Counted, refusals: Sequence[Refusal]) -> None:
    if isinstance(one, RunRecord):
        if refusals:
            add_refused_run(db, one, refusals)
        else:
            add_run(db, one)
        return
    day = int(time.time()) // DAY_S * DAY_S
    tool, counts = one
    db.execute(_ADD, (day, tool, *astuple(counts)))


def read_rows(path: Path) -> list[tuple[int, str, Counts]]:
    """Read all counts by day (start in UTC, seconds since the epoch) and by tool; empty if none
    were recorded. Change nothing; raise sqlite3.Error if the file cannot be read."""
    if not path.exists():
        return []
    with contextlib.closing(connect_read_only(path, wait_s=BUSY_TIMEOUT_S)) as db:
        if db.execute("SELECT 1 FROM sqlite_master WHERE name = 'usage'").fetchone() is None:
            return []
        rows = db.execute(
            "SELECT day, tool, calls, errors, produced, returned FROM usage ORDER BY day, tool"
        )
        return [(day, tool, Counts(*numbers)) for day, tool, *numbers in rows]
