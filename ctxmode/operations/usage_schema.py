"""The tables of a project's file of counts. `prepare` brings a file up to date.

`usage` counts calls by day and tool. `run` has the latest runs, a row each, without any text of
theirs: what was run and printed is in the audit log and in the store. `refusal` has what the
sandbox refused them, secrets masked.
"""

from __future__ import annotations

import sqlite3

from base.sqlite_files import Step, migrate

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


def prepare(db: sqlite3.Connection) -> None:
    """Make the tables that are missing. A file of the first release has counts and no number of a
    schema: it gets that of the first step.

    Raises:
        sqlite3.Error: as SQLite reports it.
        SchemaError: a later release wrote the file.
    """
    if _version(db) == 0 and _has_counts(db):
        db.execute("BEGIN IMMEDIATE")
        try:
            if _version(db) == 0:  # another process may have been faster
                db.execute("PRAGMA user_version = 1")
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
    migrate(db, STEPS)


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def _has_counts(db: sqlite3.Connection) -> bool:
    named = "SELECT 1 FROM sqlite_master WHERE name = 'usage'"
    return db.execute(named).fetchone() is not None
