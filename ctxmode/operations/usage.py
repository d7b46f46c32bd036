"""What agents' calls produced, and how much of it went into their context: measured, in bytes.

produced  what a call's work brought forth: what programs printed, the text of fetched pages
returned  the text of the answer, as it was sent
kept      produced - returned: what stayed out of the context, and can be searched

So a search, which returns what was kept before, counts against what was kept; and indexing alone
saves nothing. A total is the sum of its parts. The counts of a project are those of all servers
that ever served it, in one small database beside its store.
"""

from __future__ import annotations

import contextlib
import logging
import operator
import os
import sqlite3
import time
from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import Any

import trio

from base.sqlite_files import connect
from kb.tokens import BYTES_PER_TOKEN

ESTIMATOR = f"UTF-8 bytes / {BYTES_PER_TOKEN}"
FORMULA = "kept = produced - returned"
BUSY_TIMEOUT_S = 5.0
DAY_S = 86_400
SHARE_OF_PATIENT_ONES = 256
"""One of so many counts goes through a connection of its own, which tidies up the file's log."""

_CREATE = """
    CREATE TABLE IF NOT EXISTS usage (
        day INTEGER NOT NULL,
        tool TEXT NOT NULL,
        calls INTEGER NOT NULL,
        errors INTEGER NOT NULL,
        produced INTEGER NOT NULL,
        returned INTEGER NOT NULL,
        PRIMARY KEY (day, tool)
    )"""
_ADD = """
    INSERT INTO usage VALUES (?, ?, 1, ?, ?, ?)
    ON CONFLICT (day, tool) DO UPDATE SET
        calls = calls + 1, errors = errors + excluded.errors,
        produced = produced + excluded.produced, returned = returned + excluded.returned"""


@dataclass(frozen=True, slots=True)
class Counts:
    """Calls, those of them that failed, and bytes."""

    calls: int = 0
    errors: int = 0
    produced: int = 0
    returned: int = 0

    @property
    def kept(self) -> int:
        """Bytes that stayed out of the context; below zero where answers were longer than what the
        calls produced."""
        return self.produced - self.returned

    def __add__(self, other: Counts) -> Counts:
        return Counts(*map(operator.add, astuple(self), astuple(other)))

    def to_json(self) -> dict[str, int]:
        return asdict(self) | {"kept": self.kept}


@dataclass(frozen=True, slots=True)
class ToolUsage:
    """The counts per tool and per day, in seconds since the epoch at which the day began (UTC)."""

    tools: Mapping[str, Counts]
    days: Mapping[int, Counts]

    @property
    def total(self) -> Counts:
        return sum(self.tools.values(), Counts())

    def to_json(self) -> dict[str, Any]:
        """Build what `context-mode stats --json` and `ctx_stats` show."""
        return {
            "tools": {tool: counts.to_json() for tool, counts in self.tools.items()},
            "total": self.total.to_json(),
            "tokens_kept": tokens(self.total.kept),
            "token_estimator": ESTIMATOR,
            "formula": FORMULA,
            "days": {_date(day): counts.to_json() for day, counts in self.days.items()},
        }


def tokens(count: int) -> int:
    """Estimate how many tokens so many bytes cost; below zero for bytes below zero."""
    estimate = -(-abs(count) // BYTES_PER_TOKEN)
    return -estimate if count < 0 else estimate


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One call that was answered."""

    tool: str
    failed: bool = False
    produced: int = 0
    returned: int = 0


def record(path: Path, call: CallRecord) -> None:
    """Add one call, in one transaction, waiting for other servers of the project; sqlite3.Error if
    it cannot."""
    with contextlib.closing(connect(path, wait_s=BUSY_TIMEOUT_S)) as db:
        _add(db, call)


class Recorder:
    """Adds calls without waiting, through a connection that stays open: opening and closing one
    takes longer than most runs. What is added is there for all at once, and after a kill."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._db: sqlite3.Connection | None = None
        self._file: os.stat_result | None = None
        self._added = 0

    async def count(self, call: CallRecord) -> None:
        """Add one call; where the counts cannot be written, say so in the log."""
        try:
            if not self.add(call):
                await trio.to_thread.run_sync(record, self._path, call)
        except (sqlite3.Error, OSError) as error:
            logging.getLogger(__name__).warning("a call was not counted: %s", error)

    def add(self, call: CallRecord) -> bool:
        """Return whether the call was added; where not, `record` is to wait for its turn.
        sqlite3.Error: the counts cannot be written. OSError: the file's folder is gone."""
        self._added += 1
        if self._added % SHARE_OF_PATIENT_ONES == 0:
            return False
        try:
            _add(self._current(), call)
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
        """Return the connection to the file that bears the name; a person may have removed an older
        one."""
        if self._db is not None and self._file is not None:
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(self._file, os.stat(self._path)):
                    return self._db
        self.close()
        self._db = connect(self._path, wait_s=0, settings={"wal_autocheckpoint": 0})
        self._file = os.stat(self._path)
        return self._db


def _add(db: sqlite3.Connection, call: CallRecord) -> None:
    day = int(time.time()) // DAY_S * DAY_S
    db.execute(_CREATE)
    db.execute(_ADD, (day, call.tool, int(call.failed), call.produced, call.returned))


def read(path: Path) -> ToolUsage:
    """Read all counts, none where nothing was ever recorded; sqlite3.Error if the file cannot be
    read."""
    if not path.exists():
        return ToolUsage({}, {})
    with contextlib.closing(connect(path, wait_s=BUSY_TIMEOUT_S)) as db:
        db.execute(_CREATE)
        rows = db.execute(
            "SELECT day, tool, calls, errors, produced, returned FROM usage ORDER BY day, tool"
        ).fetchall()
    by_tool: dict[str, Counts] = {}
    by_day: dict[int, Counts] = {}
    for day, tool, *numbers in rows:
        counts = Counts(*numbers)
        by_tool[tool] = by_tool.get(tool, Counts()) + counts
        by_day[day] = by_day.get(day, Counts()) + counts
    return ToolUsage(dict(sorted(by_tool.items())), by_day)


def _date(day: int) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(day))
