"""What stores take on the disk, in bytes: their files and logs, and what waits to be indexed."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

SUFFIX = ".sqlite3"
"""What the name of every store ends with."""

STORED_SHARE = 1.6
"""How much a text takes in a store, with both indexes."""

_NO_STORES = (".usage.sqlite3", ".sessions.sqlite3", ".memory.sqlite3", ".repomap.sqlite3")


@dataclass(frozen=True, slots=True)
class DiskUse:
    """What one store takes, in bytes."""

    files: int  # the store's file and its log
    queued: int  # the files that wait to be indexed
    later: int = 0  # what those will take when they are indexed
    pages: int = 0  # what the file will be without a log
    free: int = 0  # what of `pages` holds nothing; it is filled again before the file grows

    @property
    def total(self) -> int:
        """What it takes on the disk now."""
        return self.files + self.queued

    @property
    def filled(self) -> int:
        """What it will take when all is indexed, and all that is free is given back."""
        return self.pages - self.free + self.later


def queue_folder(path: Path) -> Path:
    """Where the outputs wait that are to be indexed into the store at `path`."""
    return path.with_suffix(".queue")


def of_store(path: Path, db: sqlite3.Connection | None = None) -> DiskUse:
    """What the store at `path` takes; what of it is filled is known only with a connection."""
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
    """The files that wait to be indexed into the store at `path`."""
    try:
        return list(queue_folder(path).iterdir())
    except OSError:
        return []


def stores(folder: Path) -> Iterator[Path]:
    """The stores in a folder: plain files only."""
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        if not path.name.endswith(_NO_STORES) and _size(path):
            yield path


def _size(path: Path) -> int:
    """The size of a plain file; 0 where there is none."""
    try:
        status = path.lstat()
    except OSError:
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0
