"""What the sandbox refused the latest runs of a project, a row each, beside the table of runs.

A target is a path, a name or an address that a program chose: secrets in it are masked.
"""

# ruff: noqa: S608 - only names fixed in this file and placeholders are put into statements

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import NamedTuple

from base.stores import transaction
from ctxmode.operations.run_records import RunRecord, add_run
from executor import Refusal

ROWS_MAX = 10_000
"""Of refusals; the oldest go first."""

_FIELDS = ("kind", "target", "by", "certainty", "count", "remedy")
_COLUMNS = ", ".join(_FIELDS)
_ADD = f"INSERT INTO refusal (run, {_COLUMNS}) VALUES ({', '.join('?' * 7)})"
_OF_RUN = ("at", "language", "profile", "status", "output_id")
_RUN_COLUMNS = ", ".join(f"run.{name}" for name in _OF_RUN)


class KeptRefusals(NamedTuple):
    """A run that was refused something, by its number."""

    number: int
    at: float  # in seconds since the epoch
    language: str
    profile: str
    status: str
    output_id: str | None
    refusals: tuple[Refusal, ...]


def mask(refusal: Refusal) -> Refusal:
    """Mask the secrets of a refusal."""
    from base.secrets import redact  # noqa: PLC0415 - most runs are refused nothing

    texts = (redact(text).text for text in (refusal.target, refusal.by, refusal.remedy))
    target, by, remedy = texts
    return Refusal(refusal.kind, target, by, refusal.certainty, refusal.count, remedy)


def add_refused_run(db: sqlite3.Connection, run: RunRecord, refusals: Iterable[Refusal]) -> None:
    """Add a run with its refusals, all or nothing, and let the oldest refusals go."""
    with transaction(db):
        add_refusals(db, add_run(db, run), refusals)


def add_refusals(db: sqlite3.Connection, run: int, refusals: Iterable[Refusal]) -> None:
    """Add what the run of this number was refused, and let the oldest refusals go; the caller has
    a transaction open."""
    db.executemany(_ADD, [(run, *_values(mask(refusal))) for refusal in refusals])
    db.execute("DELETE FROM refusal WHERE id <= (SELECT MAX(id) FROM refusal) - ?", (ROWS_MAX,))


def list_refused(
    db: sqlite3.Connection, *, run: str = "", offset: int = 0, limit: int = 50
) -> list[KeptRefusals]:
    """List runs that were refused something, the latest first; with `run` the one of that number
    or output."""
    where = "AND (CAST(run.id AS TEXT) = ? OR run.output_id = ?)" if run else ""
    found = db.execute(
        f"SELECT run.id, {_RUN_COLUMNS} FROM run WHERE run.id IN (SELECT run FROM refusal) {where}"
        " ORDER BY run.id DESC LIMIT ? OFFSET ?",
        (*([run, run] if run else []), limit, offset),
    ).fetchall()
    return [KeptRefusals._make((*row, _read(db, row[0]))) for row in found]


def count_refused(db: sqlite3.Connection) -> int:
    """Count the runs that were refused something."""
    return int(db.execute("SELECT COUNT(DISTINCT run) FROM refusal").fetchone()[0])


def count_by_kind(db: sqlite3.Connection) -> dict[str, int]:
    """Count refusals by kind, the most frequent first."""
    rows = db.execute("SELECT kind, SUM(count) FROM refusal GROUP BY 1 ORDER BY 2 DESC, 1")
    return {str(kind): int(count) for kind, count in rows}


def is_known(db: sqlite3.Connection, run: str) -> bool:
    """Tell whether a run of this number or output is listed at all."""
    asked = "SELECT 1 FROM run WHERE CAST(id AS TEXT) = ? OR output_id = ?"
    return db.execute(asked, (run, run)).fetchone() is not None


def to_json(one: KeptRefusals) -> dict[str, object]:
    """Build the data of one run."""
    refusals = [dict(zip(_FIELDS, _values(refusal), strict=True)) for refusal in one.refusals]
    data = {name: getattr(one, name) for name in _OF_RUN}
    return {"run": one.number, **data, "refusals": refusals}


def summarize(refusals: Iterable[Refusal]) -> tuple[str, ...]:
    """Write refusals for the audit log: kind, target and how certain, secrets masked."""
    masked = map(mask, refusals)
    return tuple(f"{one.kind} {one.target} ({one.certainty}, {one.count})" for one in masked)


def _read(db: sqlite3.Connection, number: int) -> tuple[Refusal, ...]:
    rows = db.execute(f"SELECT {_COLUMNS} FROM refusal WHERE run = ? ORDER BY id", (number,))
    return tuple(Refusal(*row) for row in rows)


def _values(refusal: Refusal) -> tuple[str | int, ...]:
    return tuple(getattr(refusal, name) for name in _FIELDS)
