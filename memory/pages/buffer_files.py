"""The files of buffers: read, added to, listed and deleted. Whoever writes holds their lock."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress

from base.clock import is_confirmed
from base.named_tuples import NamedTuple
from base.plain_files import open_plain
from base.whole_files import replace_file
from memory.pages.folders import enter_folder
from memory.pages.turn_notes import SUFFIXES
from memory.pages.turn_records import TurnRecord, read_line, write_line, write_mark

TURNS_MAX = 500
TURNS_DROPPED = 100
KEPT_S = 30 * 86_400.0
FILE_BYTES_MAX = 16 << 20
"""Of a larger file, which is not of these hooks alone, the end is read."""

NAME_CHARS_MAX = 128
ARCHIVE = "_archive"
BUFFER = ".jsonl"
_NAME_CHARS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")


class BufferFile(NamedTuple):
    """What a file holds, when it was changed, and whether its last line is whole."""

    turns: tuple[TurnRecord, ...] = ()
    dropped: int = 0
    at: float = 0.0
    is_whole: bool = True

    @property
    def last(self) -> int:
        """The highest number of its turns."""
        return max((one.turn for one in self.turns), default=0)


def name_buffer(session: str) -> str:
    """Name a session's file: by its id, or what cannot be a name by a digest of it."""
    if 0 < len(session) <= NAME_CHARS_MAX and _NAME_CHARS.issuperset(session):
        return session
    from base.digests import sha256  # noqa: PLC0415 - hosts' own ids are names

    return "sha-" + sha256(session.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def read_buffer(folder: str, name: str) -> BufferFile:
    """Read a file; a damaged line costs itself alone.

    Raises:
        OSError: it is a link or no plain file, or cannot be read.
    """
    try:
        file = open_plain(f"{folder}/{name}{BUFFER}", follow=False)
    except FileNotFoundError:
        return BufferFile()
    with file:
        found = os.fstat(file.fileno())
        file.seek(max(found.st_size - FILE_BYTES_MAX, 0))
        data = file.read(FILE_BYTES_MAX)
    turns, dropped, seen = list[TurnRecord](), 0, set[int]()
    for line in data.split(b"\n"):
        record = read_line(line) if line else None
        if isinstance(record, int):
            dropped = max(dropped, record)
        elif record is not None and record.turn not in seen:
            seen.add(record.turn)
            turns.append(record)
    is_whole = not data or data.endswith(b"\n")
    return BufferFile(tuple(turns), dropped, found.st_mtime, is_whole)


def try_read(folder: str, name: str) -> BufferFile:
    """Read a file of several; one that cannot be read counts as empty, and hides no other."""
    try:
        return read_buffer(folder, name)
    except OSError:
        return BufferFile()


def write_buffer(path: str, turns: tuple[TurnRecord, ...], dropped: int) -> None:
    """Write a file anew, with the mark of the turns that went before.

    Raises:
        OSError: it cannot be written.
    """
    mark = [write_mark(dropped)] if dropped else []
    replace_file(path, b"".join([*mark, *map(write_line, turns)]))


def add_turn(folder: str, name: str, read: BufferFile, record: TurnRecord) -> None:
    """Add a turn to what was read of a file; beyond its bound the oldest go.

    Raises:
        OSError: it cannot be written.
    """
    path = f"{folder}/{name}{BUFFER}"
    if len(read.turns) >= TURNS_MAX:
        kept = read.turns[TURNS_DROPPED:]
        dropped = read.dropped + len(read.turns) - len(kept)
        write_buffer(path, (*kept, record), dropped)
        return
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o600)
    try:
        line = write_line(record)
        data = line if read.is_whole else b"\n" + line
        if os.write(descriptor, data) < len(data):
            raise OSError("the disk is full")
    finally:
        os.close(descriptor)


def find_archived(folder: str, name: str) -> int:
    """Return the last turn of a session that was archived."""
    numbers = [0]
    with suppress(OSError), enter_folder(folder, ARCHIVE) as archive:
        for entry in os.listdir(archive):
            begin, _, number = entry.removesuffix(BUFFER).rpartition(".")
            if begin == name and number.isascii() and number.isdigit() and len(number) < 16:
                numbers.append(int(number))
    return max(numbers)


def list_buffers(folder: str) -> list[tuple[float, str]]:
    """List the buffers by their last change, the newest first."""
    found = list[tuple[float, str]]()
    for entry in os.scandir(folder):
        if entry.name.endswith(BUFFER) and entry.is_file(follow_symlinks=False):
            with suppress(OSError):
                stamp = entry.stat(follow_symlinks=False).st_mtime
                found.append((stamp, entry.name.removesuffix(BUFFER)))
    return sorted(found, key=lambda one: (-one[0], one[1]))


def prune_files(folder: str, now: float) -> None:
    """Delete buffers, notes and archived ones of more than thirty days. By a clock that may have
    leapt none is as old."""
    found = list(_list_files(folder))
    if not is_confirmed(now, KEPT_S, (stamp for _, _, stamp in found)):
        return
    for parts, name, stamp in found:
        if now - stamp > KEPT_S:
            with suppress(OSError), enter_folder(folder, *parts) as at:
                os.unlink(f"{at}/{name}")


def _list_files(folder: str) -> Iterator[tuple[tuple[str, ...], str, float]]:
    """Yield each buffer, note and archived one: its folder, its name, its last change."""
    for parts in ((), (ARCHIVE,)):
        with suppress(OSError), enter_folder(folder, *parts) as at:
            for entry in os.scandir(at):
                if entry.name.endswith((BUFFER, *SUFFIXES)) and entry.is_file(
                    follow_symlinks=False
                ):
                    yield parts, entry.name, entry.stat(follow_symlinks=False).st_mtime
