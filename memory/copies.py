"""Copies of a file of what is remembered: one a day beside it, the last few of them kept.

A copy is never made of a damaged file, so that it outlives the damage.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING

from base.locks import hold_lock
from base.sqlite_files import CORRUPT, connect_read_only, copy_into, set_aside
from memory.database import WAIT_S, Database, is_damaged
from memory.errors import StoreUnavailableError
from memory.presence import FOLDER, name_lock, own_file

if TYPE_CHECKING:
    from base.plain_files import StrPath

CHECKED_BYTES_MAX = 16 << 20
"""Of a file up to this size the structure is verified at each opening: that takes milliseconds."""

UNFINISHED = ".unfinished"
"""The end of a name until the file is whole; what a killed process left is removed."""

_REPLACED_BY = ".copy-"
"""Before the day of the copy that took the place of a damaged file, in that file's new name."""


def is_damage(error: BaseException) -> bool:
    """Tell whether an error, or its cause, says that a file is damaged."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, sqlite3.DatabaseError):
        cause = cause.__cause__
    # What opens the file may raise errors of its own, which have no code.
    return cause is not None and getattr(cause, "sqlite_errorcode", 0) != 0 and is_damaged(cause)


def copy_daily(database: Database, now: float, kept: int, *, again: bool = False) -> Path | None:
    """Copy the file if that was not done today, or `again`, in the place of that one; return the
    copy. So many copies are kept.

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
        # Those of later days were made by a clock that was wrong.
        listed = sorted(list_copies(path), key=lambda one: one.name > wanted.name)
        for old in listed[kept:]:
            old.unlink(missing_ok=True)
    return wanted


def copy_file(database: Database, to: Path) -> None:
    """Copy a file wholly, on the disk when this returns; nothing half-made is left.

    Raises:
        StoreUnavailableError: the file is damaged.
        OSError: the copy cannot be written.
    """
    try:
        with database.reading() as db:
            _require_sound(db)
        _copy(Path(database.path), to)
    except sqlite3.Error as error:
        raise StoreUnavailableError(f"{database.path}: {error}") from error


def _copy(file: Path, to: Path) -> None:
    os.close(os.open(to, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    try:
        # A reader may copy, too: this writes only the copy.
        with closing(connect_read_only(file)) as db:
            copy_into(db, to)
        descriptor = os.open(to, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except BaseException:
        with suppress(OSError):
            os.unlink(to)
        raise


def find_last_copy(path: StrPath) -> Path | None:
    """Return the newest copy of a file; None where there is none."""
    return next(iter(list_copies(path)), None)


def list_copies(path: StrPath, pattern: str = "????-??-??") -> list[Path]:
    """List the daily copies of a file, the newest first, or what else has such a name beside."""
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
    """Keep other processes from making copies meanwhile. What a killed one left is removed.

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
    """Tell whether a file of which there is a copy is missing or empty."""
    try:
        is_empty = os.stat(path).st_size == 0
    except FileNotFoundError:
        is_empty = True
    except OSError:
        return False
    return is_empty and find_last_copy(path) is not None


def verify_structure(database: Database, *, bytes_max: int | None = None) -> None:
    """Check a file for damage, if it is no larger than usual, or than `bytes_max`.

    Raises:
        StoreUnavailableError: it is damaged; its cause says so.
    """
    room = CHECKED_BYTES_MAX if bytes_max is None else bytes_max
    if os.stat(database.path).st_size <= room:
        with database.reading() as db:
            _require_sound(db)


def _require_sound(db: sqlite3.Connection) -> None:
    (line,) = db.execute("PRAGMA quick_check(1)").fetchone()
    if line != "ok":
        error = sqlite3.DatabaseError(" ".join(str(line).split()))
        error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise error


def restore_last_copy(path: StrPath, wait_s: float) -> None:
    """Put the last sound copy of a damaged or lost file in its place, or leave none if there is
    none. The damaged file is kept, and `describe_damage` tells of it. Others who would open the
    file wait meanwhile.

    Raises:
        StoreUnavailableError: others have the file open for longer than `wait_s`, or it cannot be
            written. The file is as it was.
    """
    own = Path(path)
    try:
        find_folder(own).mkdir(mode=0o700, exist_ok=True)
        with own_file(own, wait_s, at=name_lock(own)), hold_copies(own):
            if not is_lost(own) and not has_damage(own):
                return  # another process was faster
            beside = find_folder(own) / f"{own.stem}-restored{UNFINISHED}"
            copies = (one for one in list_copies(own) if _copy_sound(one, beside))
            copy = next(copies, None)
            day = copy.stem.removeprefix(f"{own.stem}-") if copy else ""
            if own.exists():
                set_aside(own, f"{_REPLACED_BY}{day}" if day else "")
            if copy:
                os.replace(beside, own)
    except OSError as error:
        where = error.filename or own
        raise StoreUnavailableError(f"{where}: {error.strerror}") from error


def has_damage(file: Path) -> bool:
    """Check a file for damage, whatever its size; what others keep locked has none."""
    try:
        with closing(connect_read_only(file)) as db:
            _require_sound(db)
    except sqlite3.DatabaseError as error:
        return is_damaged(error)
    return False


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
    """Say what became of each damaged file that was set aside, as long as it is kept."""
    own = Path(path)
    told = []
    for aside in sorted(own.parent.glob(f"{escape(own.name)}{CORRUPT}*")):
        if aside.name.endswith(("-wal", "-shm")):
            continue
        day = aside.name.rpartition(_REPLACED_BY)[2] if _REPLACED_BY in aside.name else ""
        became = f"its copy of {day} took its place" if day else "there was no copy of it"
        told.append(
            f"{own} was damaged, and {became}. What is missing is read again from transcripts, if"
            f" they exist. Delete {aside}* to end this notice."
        )
    return tuple(told)


def find_folder(path: Path) -> Path:
    """Return the folder of a file's copies."""
    return path.parent / FOLDER
