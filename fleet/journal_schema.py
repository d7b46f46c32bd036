"""The tables of the journal of runs. A released step is never edited: a change is a new one."""

from __future__ import annotations

import sqlite3
from typing import Final

from base.sqlite_files import Step

_FIRST = """
CREATE TABLE run(
    sequence INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, front TEXT NOT NULL,
    owner TEXT NOT NULL, state TEXT NOT NULL CHECK(state IN ('accepted', 'sent', 'done')),
    order_sha256 BLOB NOT NULL, order_bytes BLOB, not_after REAL NOT NULL,
    accepted_s REAL NOT NULL, sent_s REAL, done_s REAL,
    ticket TEXT, lost INTEGER NOT NULL DEFAULT 0, outcome BLOB
) STRICT;
CREATE INDEX run_waiting ON run(owner) WHERE state = 'accepted';
CREATE INDEX run_sent ON run(owner, sent_s) WHERE sent_s IS NOT NULL;
CREATE INDEX run_left ON run(front, sequence) WHERE state <> 'done';
CREATE INDEX run_done ON run(done_s) WHERE state = 'done';
CREATE TABLE spent(
    owner TEXT NOT NULL, day INTEGER NOT NULL, cpu_s REAL NOT NULL, PRIMARY KEY(owner, day)
) STRICT, WITHOUT ROWID;
CREATE TABLE dropped(owner TEXT PRIMARY KEY, outcomes INTEGER NOT NULL) STRICT, WITHOUT ROWID;
"""


def _create_tables(db: sqlite3.Connection) -> None:
    for statement in _FIRST.split(";"):
        if statement.strip():
            db.execute(statement)


STEPS: Final[tuple[Step, ...]] = (_create_tables,)
