"""Copies of a store's file: one a day next to it, the last few of them retained, and restoring one.

A copy is never made of a damaged file, so that it outlives the damage.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING

from base.locks import hold_lock
from base.stores.database import (
    FOLDER,
    Database,
    StoreUnavailableError,
    name_lock,
    own_file,
)
from base.stores.sqlite_files import (
    CORRUPT,
    WAIT_S,
    connect_read_only,
    copy_into,
    has_damage,
    require_sound,
    set_aside,
    sync,
)

if TYPE_CHECKING:
    from base.plain_files import StrPath

CHECKED_BYTES_MAX = 16 << 20
"""Of a file up to this size the structure is verified at each opening: that takes milliseconds."""

UNFINISHED = ".unfinished"
"""The end of a name until the file is whole; what a killed process left is removed."""

_LOGS = ("-wal", "-shm", "-journal")
_REPLACED_BY = ".copy-"
"""Before the day of the copy that replaced a damaged file, in that file's new name."""


def copy_daily(database: Database, now: float, kept: int, *, again: bool = False) -> Path | None:
    """Copy the file if that was not done today, or `again`, replacing that one; return the copy.
    The newest `kept` copies stay.

    Raises:
        StoreUnavailableError: the file is damaged.
        OSError: the copy cannot be written.
    """
    path = Path(database.path)
    day = time.strftime("%Y-%m-%d", time.gmtime(now))
    wanted = find_folder(path) / f"{path.stem}-{day}.sqlite3"
    if wanted.exists() and not again:
        return None
    with hold_copies(path):
        if wanted.exists() and not again:
            return None
        beside = wanted.with_suffix(UNFINISHED)
        beside.unlink(missing_ok=True)
        try:
            copy_file(database, beside)
            os.replace(beside, wanted)
        finally:
            beside.unlink(missing_ok=True)
        # Copies of later days were made with a wrong clock.
        listed = sorted(list_copies(path), key=lambda one: one.name > wanted.name)
        for old in listed[kept:]:
            old.unlink(missing_ok=True)
    return wanted


def copy_file(database: Database, to: Path) -> None:
    """Copy a file wholly, on the disk when this returns; no partial copy is left.

    Raises:
        StoreUnavailableError: the file is damaged.
        OSError: the copy cannot be written.
    """
    try:
        with database.reading() as db:
            require_sound(db)
        _copy(Path(database.path), to)
    except sqlite3.Error as error:
        raise StoreUnavailableError(f"{database.path}: {error}") from error


def _copy(file: Path, to: Path) -> None:
    # A reader may copy, too: this writes only the copy.
    with closing(connect_read_only(file)) as db:
        copy_into(db, to)


def find_last_copy(path: StrPath) -> Path | None:
    """Return the newest copy of a file; None if it has none."""
    return next(iter(list_copies(path)), None)


def list_copies(path: StrPath, pattern: str = "????-??-??") -> list[Path]:
    """List the daily copies of a file, or others by a pattern, the newest first."""
    own = Path(path)
    found = find_folder(own).glob(f"{escape(own.stem)}-{pattern}.sqlite3")
    return sorted((one for one in found if one.is_file()), reverse=True)


def drop_copies(path: StrPath) -> None:
    """Delete all daily copies of a file.

    Raises:
        OSError: one cannot be deleted.
    """
    if list_copies(path):
        with hold_copies(path):
            for one in list_copies(path):
                one.unlink(missing_ok=True)


@contextmanager
def hold_copies(path: StrPath) -> Iterator[None]:
    """Keep other processes from making copies. Remains of a killed one are removed.

    Raises:
        OSError: the folder cannot be made, or another process holds it too long.
    """
    folder = find_folder(Path(path))
    folder.mkdir(mode=0o700, exist_ok=True)
    with hold_lock(folder / f"{Path(path).stem}.lock", WAIT_S):
        for left in folder.glob(f"{escape(Path(path).stem)}-*{UNFINISHED}*"):
            left.unlink(missing_ok=True)
        yield


def is_lost(path: StrPath) -> bool:
    """Return whether a file that has a copy is missing or empty."""
    try:
        is_empty = os.stat(path).st_size == 0
    except FileNotFoundError:
        is_empty = True
    except OSError:
        return False
    return is_empty and find_last_copy(path) is not None


def verify_structure(database: Database, *, bytes_max: int | None = None) -> None:
    """Check a file for damage, if its size is usual, or up to `bytes_max`.

    Raises:
        StoreUnavailableError: it is damaged, for the reason in its cause.
    """
    room = CHECKED_BYTES_MAX if bytes_max is None else bytes_max
    if os.stat(database.path).st_size <= room:
        with database.reading() as db:
            require_sound(db)


def restore_last_copy(path: StrPath, wait_s: float) -> None:
    """Replace a damaged or lost file by its last intact copy, or by none. The damaged file stays,
    and `describe_damage` reports it. Others who open the file wait until then.

    Raises:
        StoreUnavailableError: others have the file open for longer than `wait_s`, or it cannot be
            written. The file is as it was.
    """
    own = Path(path)
    with replacing(own, wait_s, at=name_lock(own)) as beside:
        if not is_lost(own) and not has_damage(own):
            return  # another process was faster
        copies = (one for one in list_copies(own) if _copy_sound(one, beside))
        copy = next(copies, None)
        day = copy.stem.removeprefix(f"{own.stem}-") if copy else ""
        if own.exists():
            set_aside(own, f"{_REPLACED_BY}{day}" if day else "")
        if copy:
            put_file(beside, own)


@contextmanager
def replacing(
    path: StrPath, wait_s: float, *, at: StrPath = "", remedy: str = ""
) -> Iterator[Path]:
    """Yield the path, next to a file's copies, for writing its replacement. Nobody has the file
    open inside, and no copy is made; anything left at that path is removed. The lock is as in
    `share_file`.

    Raises:
        StoreUnavailableError: others have the file open for longer than `wait_s`, or something
            cannot be written.
    """
    own = Path(path)
    beside = find_folder(own) / f"{own.stem}-restored{UNFINISHED}"
    try:
        find_folder(own).mkdir(mode=0o700, exist_ok=True)
        with own_file(own, wait_s, at=at), hold_copies(own):
            try:
                yield beside
            finally:
                remove_file(beside)
    except OSError as error:
        where = error.filename or own
        raise StoreUnavailableError(f"{where}: {error.strerror}", remedy) from error


def put_file(file: Path, to: Path) -> None:
    """Rename a copy over a file, and delete its log, which belongs to the old content."""
    for suffix in _LOGS:
        Path(f"{to}{suffix}").unlink(missing_ok=True)
    os.replace(file, to)
    sync(to.parent)


def remove_file(file: Path) -> None:
    """Remove a file with its log."""
    for suffix in ("", *_LOGS):
        Path(f"{file}{suffix}").unlink(missing_ok=True)


def _copy_sound(copy: Path, to: Path) -> bool:
    if has_damage(copy):
        return False
    try:
        _copy(copy, to)
    except sqlite3.Error:
        return False
    return True


def is_unsound(path: Path) -> bool:
    """Return whether a file is lost, or a file of a usual size damaged."""
    return is_lost(path) or (path.stat().st_size <= CHECKED_BYTES_MAX and has_damage(path))


def describe_damage(path: StrPath) -> tuple[str, ...]:
    """Describe what happened to each damaged file that was set aside and still exists."""
    own = Path(path)
    told = []
    for aside in sorted(own.parent.glob(f"{escape(own.name)}{CORRUPT}*")):
        if aside.name.endswith(("-wal", "-shm")):
            continue
        day = aside.name.rpartition(_REPLACED_BY)[2] if _REPLACED_BY in aside.name else ""
        became = f"its copy of {day} replaced it" if day else "there was no copy of it"
        told.append(
            f"{own} was damaged, and {became}. Missing entries are read again from transcripts, if"
            f" they exist. Delete {aside}* to end this notice."
        )
    return tuple(told)


def find_folder(path: Path) -> Path:
    """Return the folder of a file's copies."""
    return path.parent / FOLDER
