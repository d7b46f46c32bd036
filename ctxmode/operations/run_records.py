"""The latest runs of a project: one row each with status, resource use and output ID.

A row has only numbers and names, so it contains no secret.
"""

# ruff: noqa: S608 - only names fixed in this file and placeholders are put into statements

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from base.stores import transaction
from executor import Refusal, Request, Result

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
_ADD = f"INSERT INTO run ({_COLUMNS}) VALUES ({', '.join('?' * len(RunRecord._fields))})"


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
    number = db.execute(_ADD, run).lastrowid or 0
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
