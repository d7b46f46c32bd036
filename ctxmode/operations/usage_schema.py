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

_USAGE = """
    CREATE TABLE usage (
        day INTEGER NOT NULL,
        tool TEXT NOT NULL,
        calls INTEGER NOT NULL,
        errors INTEGER NOT NULL,
        produced INTEGER NOT NULL,
        returned INTEGER NOT NULL,
        PRIMARY KEY (day, tool)
    )"""
_RUN = """
    CREATE TABLE run (
        id INTEGER PRIMARY KEY,
        at REAL NOT NULL,
        language TEXT NOT NULL,
        toolchain TEXT,
        profile TEXT NOT NULL,
        tier TEXT NOT NULL,
        status TEXT NOT NULL,
        exit_code INTEGER,
        signal INTEGER,
        phase TEXT NOT NULL,
        decision TEXT,
        wall_s REAL NOT NULL,
        cpu_s REAL NOT NULL,
        peak_memory_bytes INTEGER,
        peak_processes INTEGER,
        stdout_bytes INTEGER NOT NULL,
        stderr_bytes INTEGER NOT NULL,
        changed_files INTEGER NOT NULL,
        not_committed INTEGER NOT NULL,
        connections INTEGER NOT NULL,
        session TEXT,
        output_id TEXT
    )"""

_REFUSAL = """
    CREATE TABLE refusal (
        id INTEGER PRIMARY KEY,
        run INTEGER NOT NULL,
        kind TEXT NOT NULL,
        target TEXT NOT NULL,
        by TEXT NOT NULL,
        certainty TEXT NOT NULL,
        count INTEGER NOT NULL,
        remedy TEXT NOT NULL
    )"""


def create_usage_table(db: sqlite3.Connection) -> None:
    """Make the counts of calls."""
    db.execute(_USAGE)


def create_run_table(db: sqlite3.Connection) -> None:
    """Make the table of the latest runs."""
    db.execute(_RUN)
    db.execute("CREATE INDEX run_status ON run (status, id)")


def create_refusal_table(db: sqlite3.Connection) -> None:
    """Make the table of what runs were refused."""
    db.execute(_REFUSAL)
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
