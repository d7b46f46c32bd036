"""Usage counts: bytes that agents' calls produced, and bytes returned to their context.

produced  output of programs and text of fetched pages, shown or stored
returned  the text of the answer, as sent

A project's counts are those of all its servers, in one small database next to its store, with the
latest runs: one row each with status, resource use and output ID. A row of a run has only numbers
and names, so it contains no secret. Figures computed from them are in `figures`.
"""

# ruff: noqa: S608 - only names fixed in this file and placeholders are put into statements

from __future__ import annotations

import contextlib
import logging
import operator
import os
import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import trio

from base.stores import NO_SETTINGS, SchemaError, Step, connect_read_only, open_current, transaction
from executor import Refusal, Request, Result

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


Counted: TypeAlias = "tuple[str, Counts] | RunRecord"
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


ROWS_MAX = 10_000
PRUNED_EVERY = 64  # number of new rows after which the oldest beyond `ROWS_MAX` are deleted


class RunRecord(NamedTuple):
    """One run that ended, or was refused; None means not measured, or not applicable."""

    at: float  # in seconds since the epoch
    language: str
    toolchain: str | None
    profile: str
    tier: str
    status: str
    exit_code: int | None
    signal: int | None
    phase: str
    decision: str | None  # the verdict's
    wall_s: float
    cpu_s: float
    peak_memory_bytes: int | None
    peak_processes: int | None
    stdout_bytes: int
    stderr_bytes: int
    changed_files: int
    not_committed: int
    connections: int
    session: str | None
    output_id: str | None


_COLUMNS = ", ".join(RunRecord._fields)
_ADD_RUN = f"INSERT INTO run ({_COLUMNS}) VALUES ({', '.join('?' * len(RunRecord._fields))})"


def make_run_record(request: Request, result: Result, output_id: str | None) -> RunRecord:
    """Build the row of a run that just ended."""
    usage = result.usage
    return RunRecord(
        round(time.time(), 3),
        request.language,
        result.toolchain,
        result.profile,
        result.isolation.tier,
        result.status.value,
        result.exit_code,
        result.signal,
        result.phase,
        None if result.verdict is None else str(result.verdict["decision"]),
        usage.wall_s,
        usage.cpu_s,
        usage.peak_memory_bytes,
        usage.peak_processes,
        result.stdout.bytes_total,
        result.stderr.bytes_total,
        len(result.changed_files) + result.changed_files_omitted,
        len(result.not_committed),
        len(result.connections),
        request.session,
        output_id,
    )


def add_run(db: sqlite3.Connection, run: RunRecord) -> int:
    """Add a row, and sometimes delete the oldest; return its number."""
    number = db.execute(_ADD_RUN, run).lastrowid or 0
    if number % PRUNED_EVERY == 0:
        db.execute("DELETE FROM run WHERE id <= ?", (number - ROWS_MAX,))
    return number


def list_runs(
    db: sqlite3.Connection, *, status: str = "", offset: int = 0, limit: int = 50
) -> list[RunRecord]:
    """List runs, latest first; only those with `status` if it is given."""
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM run {'WHERE status = ?' if status else ''}"
        " ORDER BY id DESC LIMIT ? OFFSET ?",
        (*([status] if status else []), limit, offset),
    )
    return [RunRecord(*row) for row in rows]


def count_by_status(db: sqlite3.Connection) -> dict[str, int]:
    """Count runs by status, most frequent first."""
    rows = db.execute("SELECT status, COUNT(*) FROM run GROUP BY 1 ORDER BY 2 DESC, 1")
    return {str(status): int(count) for status, count in rows}


# A target is a path, name or address that a program chose: secrets in it are masked.

REFUSALS_MAX = 10_000  # maximum number of stored refusals; the oldest are deleted first
_FIELDS = ("kind", "target", "by", "certainty", "count", "remedy")
_REFUSAL_COLUMNS = ", ".join(_FIELDS)
_ADD_REFUSALS = f"INSERT INTO refusal (run, {_REFUSAL_COLUMNS}) VALUES ({', '.join('?' * 7)})"
_OF_RUN = ("at", "language", "profile", "status", "output_id")
_RUN_COLUMNS = ", ".join(f"run.{name}" for name in _OF_RUN)


KeptRefusals = tuple[int, Mapping[str, Any], tuple[Refusal, ...]]
"""A run: its number, its row, and its refusals."""


def mask(refusal: Refusal) -> Refusal:
    """Mask the secrets of a refusal."""
    from base.secrets import redact  # noqa: PLC0415 - most runs have no refusals

    texts = (redact(text)[0] for text in (refusal.target, refusal.by, refusal.remedy))
    target, by, remedy = texts
    return Refusal(refusal.kind, target, by, refusal.certainty, refusal.count, remedy)


def add_refused_run(db: sqlite3.Connection, run: RunRecord, refusals: Iterable[Refusal]) -> None:
    """Add a run with its refusals in one transaction, and delete the oldest refusals."""
    with transaction(db):
        add_refusals(db, add_run(db, run), refusals)


def add_refusals(db: sqlite3.Connection, run: int, refusals: Iterable[Refusal]) -> None:
    """Add the refusals of the run with this number, and delete the oldest, in the caller's
    transaction."""
    db.executemany(_ADD_REFUSALS, [(run, *_values(mask(refusal))) for refusal in refusals])
    db.execute("DELETE FROM refusal WHERE id <= (SELECT MAX(id) FROM refusal) - ?", (REFUSALS_MAX,))


def list_refused(
    db: sqlite3.Connection, *, run: str = "", offset: int = 0, limit: int = 50
) -> list[KeptRefusals]:
    """List runs with refusals, latest first; with `run`, only the run with that number or output
    ID."""
    where = "AND (CAST(run.id AS TEXT) = ? OR run.output_id = ?)" if run else ""
    found = db.execute(
        f"SELECT run.id, {_RUN_COLUMNS} FROM run WHERE run.id IN (SELECT run FROM refusal) {where}"
        " ORDER BY run.id DESC LIMIT ? OFFSET ?",
        (*([run, run] if run else []), limit, offset),
    ).fetchall()
    return [
        (number, dict(zip(_OF_RUN, row, strict=True)), _read(db, number)) for number, *row in found
    ]


def count_refused(db: sqlite3.Connection) -> int:
    """Count the runs with refusals."""
    return int(db.execute("SELECT COUNT(DISTINCT run) FROM refusal").fetchone()[0])


def count_by_kind(db: sqlite3.Connection) -> dict[str, int]:
    """Count refusals by kind, most frequent first."""
    rows = db.execute("SELECT kind, SUM(count) FROM refusal GROUP BY 1 ORDER BY 2 DESC, 1")
    return {str(kind): int(count) for kind, count in rows}


def is_known(db: sqlite3.Connection, run: str) -> bool:
    """Return whether a run with this number or output ID is stored."""
    asked = "SELECT 1 FROM run WHERE CAST(id AS TEXT) = ? OR output_id = ?"
    return db.execute(asked, (run, run)).fetchone() is not None


def to_json(one: KeptRefusals) -> dict[str, object]:
    """Build the JSON of one run."""
    number, row, refusals = one
    told = [dict(zip(_FIELDS, _values(refusal), strict=True)) for refusal in refusals]
    return {"run": number, **row, "refusals": told}


def summarize(refusals: Iterable[Refusal]) -> tuple[str, ...]:
    """Write refusals for the audit log: kind, target, certainty and count, secrets masked."""
    masked = map(mask, refusals)
    return tuple(f"{one.kind} {one.target} ({one.certainty}, {one.count})" for one in masked)


def _read(db: sqlite3.Connection, number: int) -> tuple[Refusal, ...]:
    rows = db.execute(
        f"SELECT {_REFUSAL_COLUMNS} FROM refusal WHERE run = ? ORDER BY id", (number,)
    )
    return tuple(Refusal(*row) for row in rows)


def _values(refusal: Refusal) -> tuple[str | int, ...]:
    return tuple(getattr(refusal, name) for name in _FIELDS)
