"""The latest runs of a project, a row each: how each ended, what it took, where its output is.

A row has numbers and names alone, so that no secret is in it.
"""

# ruff: noqa: S608 - only names fixed in this file and placeholders are put into statements

from __future__ import annotations

import sqlite3
import time
from typing import NamedTuple

from executor import Request, Result

ROWS_MAX = 10_000
PRUNED_EVERY = 64
"""After so many new rows those beyond `ROWS_MAX` go, the oldest first."""


class RunRecord(NamedTuple):
    """One run that ended, or was refused; None is what was not measured, or does not apply."""

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
    """Make the row of a run that just ended."""
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
    """Add a row, and now and then let the oldest go; return its number."""
    number = db.execute(_ADD, run).lastrowid or 0
    if number % PRUNED_EVERY == 0:
        db.execute("DELETE FROM run WHERE id <= ?", (number - ROWS_MAX,))
    return number


def list_runs(
    db: sqlite3.Connection, *, status: str = "", offset: int = 0, limit: int = 50
) -> list[RunRecord]:
    """List runs, the latest first; those with a status where one is given."""
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM run {'WHERE status = ?' if status else ''}"
        " ORDER BY id DESC LIMIT ? OFFSET ?",
        (*([status] if status else []), limit, offset),
    )
    return [RunRecord(*row) for row in rows]


def count_by_status(db: sqlite3.Connection) -> dict[str, int]:
    """Count runs by how they ended, the most frequent first."""
    rows = db.execute("SELECT status, COUNT(*) FROM run GROUP BY 1 ORDER BY 2 DESC, 1")
    return {str(status): int(count) for status, count in rows}
