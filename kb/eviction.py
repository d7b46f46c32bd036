"""Eviction, to keep a store within its quota: the oldest sources go, a little at a time.

An eviction is a row: how much text may stay, and what went so far. So a step needs only the row,
any process may take the next one, and one that was killed leaves nothing half done. Its steps are:
forget sources, or the last chunks of a large one, until no more text is left than may stay. Then
merge the indexes, and return the free pages to the file system. Superseded sources go before
current ones, since search skips them; then the oldest go first.
"""

# ruff: noqa: S608 - only names fixed in this file are put into statements

from __future__ import annotations

import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from base.stores import WAIT_S
from kb import purging, writing
from kb.access import Access
from kb.model import Purged, StoreQuotaError

if TYPE_CHECKING:
    import sqlite3

SUFFIX = ".sqlite3"
"""The suffix of every store's file name."""

STORED_SHARE = 1.6
"""The disk space of a text in a store, with both indexes, as a multiple of its size."""

_NO_STORES = (".usage.sqlite3", ".sessions.sqlite3", ".memory.sqlite3", ".repomap.sqlite3")


@dataclass(frozen=True, slots=True)
class DiskUse:
    """Disk use of one store, in bytes."""

    files: int  # the store's file and its log
    queued: int  # the files that wait to be indexed
    later: int = 0  # what those will take when they are indexed
    pages: int = 0  # what the file will be without a log
    free: int = 0  # the empty part of `pages`; it is filled again before the file grows

    @property
    def total(self) -> int:
        """Return the present use of the disk."""
        return self.files + self.queued

    @property
    def filled(self) -> int:
        """Return the use once all is indexed and all free pages are returned."""
        return self.pages - self.free + self.later


def queue_folder(path: Path) -> Path:
    """Return the folder of the outputs that wait to be indexed into the store at `path`."""
    return path.with_suffix(".queue")


def of_store(path: Path, db: sqlite3.Connection | None = None) -> DiskUse:
    """Measure the store at `path`; the filled part is known only with a connection."""
    files = _size(path) + _size(path.with_name(path.name + "-wal"))
    queued = sum(_size(file) for file in queued_files(path))
    if db is None:
        return DiskUse(files, queued)
    size, pages, free = (
        db.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("page_size", "page_count", "freelist_count")
    )
    waiting = db.execute("SELECT coalesce(sum(end_byte - next_byte), 0) FROM pending").fetchone()
    later = int(waiting[0] * STORED_SHARE)
    return DiskUse(files, queued, later, pages * size, free * size)


def queued_files(path: Path) -> list[Path]:
    """List the files that wait to be indexed into the store at `path`."""
    try:
        return list(queue_folder(path).iterdir())
    except OSError:
        return []


def stores(folder: Path) -> Iterator[Path]:
    """Yield the stores in a folder: plain files only."""
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        if not path.name.endswith(_NO_STORES) and _size(path):
            yield path


def _size(path: Path) -> int:
    """Return the size of a plain file; 0 if it is missing."""
    try:
        status = path.lstat()
    except OSError:
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


STAYS = 0.9
"""The share of a quota that stays filled, so that not every addition exceeds it."""

STEP_SOURCES = 50
STEP_PAGES = 1000
MERGE_PAGES = 250
CHECKPOINT_MS = 500
INDEXES = ("chunk_fts", "history_fts", "word_fts")

MERGES_MAX = 4000
"""If others add to the indexes all the time, they would never be in one piece."""

ORPHAN_S = 3600.0
"""A file that has waited so long in the queue's folder without a row of the queue is garbage."""

REMEMBERED = 20
"""The number of evictions that are recorded, to be reported."""

_ORDER = "(expires_at IS NULL OR expires_at > :now), superseded_by IS NULL, indexed_at, id"


@dataclass(frozen=True, slots=True)
class Eviction:
    """One eviction for a quota. Times are in seconds since the epoch."""

    begun_at: float
    quota: str  # `project` or `all`
    sources: int
    text_bytes: int
    ended_at: float | None  # None: still running


def admit(access: Access, new_bytes: int) -> None:
    """Ensure that an addition can be stored.

    Raises:
        StoreQuotaError: the pinned sources leave no room for it.
    """
    quota = access.quota_bytes
    if quota is None:
        return
    new = int(new_bytes * STORED_SHARE)
    if of_store(access.path).files + new <= quota:
        return
    with access.reading() as db:
        use = of_store(access.path, db)
        pinned = _estimate_pinned(db, use.pages - use.free)
    if pinned + new > quota:
        raise StoreQuotaError(
            f"{new_bytes:,} bytes do not fit in the project's quota of {quota:,} bytes, of which "
            f"{pinned:,} are pinned: raise quota.project_bytes, or purge pinned sources"
        )


def _estimate_pinned(db: sqlite3.Connection, filled: int) -> int:
    """Estimate how much of the filled space is pinned."""
    total, pinned = db.execute(
        "SELECT coalesce(sum(bytes_indexed), 0), coalesce(sum(pinned * bytes_indexed), 0)"
        " FROM source"
    ).fetchone()
    return int(filled * pinned / total) if total else 0


def step(access: Access) -> bool:
    """Take the next step towards the quota; return False if none is left.

    Raises:
        StoreError: it could not be taken.
    """
    if access.quota_bytes is not None and not _under_way(access):
        begin_if_exceeded(access, access.quota_bytes)
    return next_step(access)


def next_step(access: Access) -> bool:
    """Take the next step of the running eviction; return False if none is running."""
    return _under_way(access) and (_forget_some(access) or _tidy_some(access))


def _under_way(access: Access) -> bool:
    with access.reading() as db:
        return _current(db) is not None


def begin_if_exceeded(access: Access, quota: int) -> None:
    """Begin an eviction if the store exceeds its quota."""
    if of_store(access.path).total <= quota:
        return
    drop_orphans(access)
    with access.exclusively() as db:
        _checkpoint(db)
    if of_store(access.path).total > quota:
        begin(access, "project", lambda text, use: _staying(text, use, quota))


def _staying(text: int, use: DiskUse, quota: int) -> int:
    if use.filled <= quota:
        return text  # only free pages are to be returned
    return int(text * STAYS * quota / use.filled)


def begin(access: Access, quota: str, staying: Callable[[int, DiskUse], int]) -> None:
    """Begin an eviction, unless one is running or nothing could go. `staying` returns how much of
    so much text may stay, in a store of that size."""
    with access.writing() as db:
        if _current(db) is not None:
            return
        use = of_store(access.path, db)
        text = text_bytes(db)
        left = staying(text, use)
        unpinned = db.execute("SELECT 1 FROM source WHERE pinned = 0 LIMIT 1").fetchone()
        if not use.free and (left >= text or unpinned is None):
            return
        db.execute(
            "INSERT INTO eviction (begun_at, quota, text_bytes_left) VALUES (?, ?, ?)",
            (time.time(), quota, left),
        )
        db.execute(
            "DELETE FROM eviction WHERE id <= (SELECT max(id) FROM eviction) - ?", (REMEMBERED,)
        )


def text_bytes(db: sqlite3.Connection) -> int:
    """Count the stored text, including what is queued and soon will be."""
    row = db.execute(
        "SELECT (SELECT coalesce(sum(bytes_indexed), 0) FROM source)"
        " + (SELECT coalesce(sum(end_byte - next_byte), 0) FROM pending)"
    ).fetchone()
    return int(row[0])


def _current(db: sqlite3.Connection) -> tuple[int, int, bool] | None:
    """Return the running eviction: its id, how much text may stay, whether only tidying is left."""
    row: tuple[int, int, bool] | None = db.execute(
        "SELECT id, text_bytes_left, forgotten_at IS NOT NULL FROM eviction"
        " WHERE ended_at IS NULL ORDER BY id LIMIT 1"
    ).fetchone()
    return row


def _forget_some(access: Access) -> bool:
    """Forget the next sources in one short transaction; return False if enough was forgotten."""
    with access.writing() as db:
        current = _current(db)
        if current is None or current[2]:
            return False
        eviction_id, left, _ = current
        excess = text_bytes(db) - left
        forgotten = _forget_oldest(db, excess) if excess > 0 else []
        db.execute(
            "UPDATE eviction SET sources = sources + ?, text_bytes = text_bytes + ?,"
            " forgotten_at = ? WHERE id = ?",
            (
                sum(one.sources for one in forgotten),
                sum(one.text_bytes for one in forgotten),
                None if forgotten else time.time(),
                eviction_id,
            ),
        )
        access.known_words.clear()
    for one in forgotten:
        for spool in one.spools:
            spool.unlink(missing_ok=True)
    return True


def _forget_oldest(db: sqlite3.Connection, excess: int) -> list[Purged]:
    """Forget the next unpinned sources, up to the limit of one transaction."""
    forgotten: list[Purged] = []
    rows = db.execute(
        f"SELECT id FROM source WHERE pinned = 0 ORDER BY {_ORDER} LIMIT :most",
        {"now": time.time(), "most": STEP_SOURCES},
    )
    for (source_id,) in rows.fetchall():
        room = writing.STEP_CHUNKS - sum(one.chunks for one in forgotten)
        left = excess - sum(one.text_bytes for one in forgotten)
        if room <= 0 or left <= 0:
            break
        forgotten.append(purging.forget_end(db, source_id, room, left))
    return forgotten


def _tidy_some(access: Access) -> bool:
    """Return some free pages to the file system; note when that is done."""
    with access.exclusively() as db:
        merging = db.execute(
            "UPDATE eviction SET merges = merges + 1"
            " WHERE ended_at IS NULL AND text_bytes > 0 AND merges < ? RETURNING merges",
            (MERGES_MAX,),
        ).fetchall()
        if (merging and _merge_some(db, merging[0][0])) or _shrink_some(db):
            return True
        db.execute("UPDATE eviction SET ended_at = ? WHERE ended_at IS NULL", (time.time(),))
        _checkpoint(db)
    return True


def drop_orphans(access: Access) -> None:
    """Remove files of the queue that a killed process has left and nobody will index."""
    with access.reading() as db:
        wanted = {spool for (spool,) in db.execute("SELECT DISTINCT spool FROM pending")}
    for file in queued_files(access.path):
        try:
            waited_s = time.time() - file.lstat().st_mtime
            if str(file.absolute()) not in wanted and waited_s > ORPHAN_S:
                file.unlink()
        except OSError:
            continue


def latest(db: sqlite3.Connection) -> tuple[Eviction, ...]:
    """Return the recorded evictions, the latest first."""
    rows = db.execute(
        "SELECT begun_at, quota, sources, text_bytes, ended_at FROM eviction ORDER BY id DESC"
    )
    return tuple(Eviction(*row) for row in rows)


def _merge_some(db: sqlite3.Connection, step: int) -> bool:
    """Merge some of the indexes, which drops deleted entries; `step` counts from 1. Return False
    when that is done."""
    if step <= len(INDEXES):  # all that is in an index now is to become one piece
        _merge(db, INDEXES[step - 1], -MERGE_PAGES)
        return True
    return any(_merge(db, table, MERGE_PAGES) for table in INDEXES)


def _merge(db: sqlite3.Connection, table: str, pages: int) -> bool:
    """Merge, and return whether there was something to merge."""
    before = db.total_changes
    db.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('merge', ?)", (pages,))
    return db.total_changes - before >= 2


def _shrink_some(db: sqlite3.Connection) -> bool:
    """Return some free pages to the file system; False when no more are left.

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


def _checkpoint(db: sqlite3.Connection) -> None:
    """Move the log into the file and empty it, unless others keep that from being done at once."""
    db.execute(f"PRAGMA busy_timeout = {CHECKPOINT_MS}")
    try:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise
    finally:
        db.execute(f"PRAGMA busy_timeout = {int(WAIT_S * 1000)}")
