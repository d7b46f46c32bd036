"""Giving space back to the file system a little at a time, while others read and write."""

# ruff: noqa: S608 - only names fixed in this file are put into statements

from __future__ import annotations

import sqlite3

from base.sqlite_files import BUSY_TIMEOUT_S

STEP_PAGES = 1000
MERGE_PAGES = 250
CHECKPOINT_MS = 500
INDEXES = ("chunk_fts", "history_fts", "word_fts")


def merge_some(db: sqlite3.Connection, step: int) -> bool:
    """Merge some of the indexes, which leaves out what was deleted; `step` counts from 1. False
    when that is done."""
    if step <= len(INDEXES):  # all that is in an index now is to become one piece
        _merge(db, INDEXES[step - 1], -MERGE_PAGES)
        return True
    return any(_merge(db, table, MERGE_PAGES) for table in INDEXES)


def _merge(db: sqlite3.Connection, table: str, pages: int) -> bool:
    """Whether there was something to merge."""
    before = db.total_changes
    db.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('merge', ?)", (pages,))
    return db.total_changes - before >= 2


def shrink_some(db: sqlite3.Connection) -> bool:
    """Give some free pages back; False when there are none.

    A file that an earlier release made cannot shrink bit by bit: it is rewritten as a whole, once.
    """
    if not db.execute("PRAGMA freelist_count").fetchone()[0]:
        return False
    if not db.execute("PRAGMA auto_vacuum").fetchone()[0]:
        db.execute("VACUUM")
        return False
    # By `execute` a pragma without rows would free one page.
    db.executescript(f"PRAGMA incremental_vacuum({STEP_PAGES})")
    return True


def checkpoint(db: sqlite3.Connection) -> None:
    """Move the log into the file and empty it, unless others keep that from being done at once."""
    db.execute(f"PRAGMA busy_timeout = {CHECKPOINT_MS}")
    try:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise
    finally:
        db.execute(f"PRAGMA busy_timeout = {int(BUSY_TIMEOUT_S * 1000)}")
