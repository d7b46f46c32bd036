"""The tables of a project's file of counts. `open_usage` brings a file up to date.

`usage` counts calls by day and tool. `run` has the latest runs, a row each, without any text of
theirs: what was run and printed is in the audit log and in the store. `refusal` has what the
sandbox refused them, secrets masked.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path

from base.stores import NO_SETTINGS, Step, open_current


def _create(db: sqlite3.Connection, number: int) -> None:
    """Make the table of a step, as the file beside this one has it."""
    statements = Path(__file__).with_suffix(".sql").read_text("utf-8").split(";")
    db.execute(statements[number])


def create_usage_table(db: sqlite3.Connection) -> None:
    """Make the counts of calls."""
    _create(db, 0)


def create_run_table(db: sqlite3.Connection) -> None:
    """Make the table of the latest runs."""
    _create(db, 1)
    db.execute("CREATE INDEX run_status ON run (status, id)")


def create_refusal_table(db: sqlite3.Connection) -> None:
    """Make the table of what runs were refused."""
    _create(db, 2)
    db.execute("CREATE INDEX refusal_run ON refusal (run)")


STEPS: tuple[Step, ...] = (create_usage_table, create_run_table, create_refusal_table)


def open_usage(
    path: Path, *, wait_s: float, settings: Mapping[str, str | int] = NO_SETTINGS
) -> sqlite3.Connection:
    """Open the file, made or brought up to date. One of the first release has counts, and its
    schema has no number.

    Raises:
        sqlite3.Error: as SQLite reports it.
        SchemaError: a later release wrote the file.
        OSError: it cannot be made.
    """
    return open_current(path, STEPS, wait_s=wait_s, settings=settings, unnumbered="usage")
