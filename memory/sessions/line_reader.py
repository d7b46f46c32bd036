"""Reading of line files that their owner extends, rotates, truncates, or leaves torn.

A file is identified by its device, its inode and its first KiB. Another file at the path is read
from its beginning, which is harmless: records have keys. Only whole lines are read.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from base.digests import sha256
from base.named_tuples import NamedTuple
from base.plain_files import open_plain

HEAD_BYTES = 1024
LINE_BYTES_MAX = 64 << 20
BLOCK_BYTES = 1 << 20


class FilePlace(NamedTuple):
    """The position of reading: the identified file, and the first unread byte."""

    device: int = 0
    inode: int = 0
    head_bytes: int = 0
    head_sha256: bytes | None = None
    offset: int = 0


Line = tuple[int, int, bytes | None]
"""One line: its beginning and end, and its content; None if it is too long."""


class HeldError(Exception):
    """Error: another process reads the file."""


@contextmanager
def open_transcript(path: str) -> Iterator[BinaryIO]:
    """Open a regular file that is not a link, for one reader at a time.

    Raises:
        HeldError: another process reads it.
        OSError: it cannot be opened.
    """
    with open_plain(path, follow=False) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise HeldError(path) from None
        except OSError as error:  # some network file systems cannot lock a file opened for reading
            if error.errno not in (errno.EBADF, errno.ENOLCK, errno.EOPNOTSUPP):
                raise
        yield file


def find_place(file: BinaryIO, known: FilePlace) -> FilePlace:
    """Return where to continue in the open file: the last position, or the beginning of a new
    file."""
    status = os.fstat(file.fileno())
    head = os.pread(file.fileno(), HEAD_BYTES, 0)
    is_same = (
        (status.st_dev, status.st_ino) == (known.device, known.inode)
        and status.st_size >= known.offset
        and sha256(head[: known.head_bytes]).digest() == known.head_sha256
    )
    return FilePlace(
        status.st_dev,
        status.st_ino,
        len(head),
        sha256(head).digest(),
        known.offset if is_same else 0,
    )


def read_lines(
    file: BinaryIO,
    offset: int,
    end: int,
    line_bytes_max: int = LINE_BYTES_MAX,
    *,
    is_complete: bool = False,
) -> Iterator[Line]:
    """Yield the whole lines from an offset to the one that crosses `end`, without their ends. A
    torn last line waits for the next reading, unless the file `is_complete`; a line that lacks only
    its end is whole."""
    start = at = offset  # of the line, and of the data still to be split
    rest = b""
    is_too_long = False
    while True:
        block = os.pread(file.fileno(), BLOCK_BYTES, at + len(rest))
        if not block:
            if is_complete and (rest or is_too_long):
                yield start, at + len(rest), None if is_too_long else rest
            elif _is_object(rest):
                yield start, at + len(rest), rest
            return
        *lines, rest = (rest + block).split(b"\n")
        for data in lines:
            at += len(data) + 1
            yield start, at, None if is_too_long or len(data) > line_bytes_max else data
            start, is_too_long = at, False
            if start >= end:
                return
        if len(rest) > line_bytes_max:
            at += len(rest)
            rest, is_too_long = b"", True


def _is_object(data: bytes) -> bool:
    """Return whether a line is a whole object, which no later byte could change."""
    if not data.rstrip().endswith(b"}"):
        return False
    try:
        return isinstance(json.loads(data), dict)
    except (ValueError, RecursionError):
        return False


def find_line_start(file: BinaryIO, offset: int) -> int:
    """Return the beginning of the first line at or after an offset."""
    if offset <= 0:
        return 0
    at = offset - 1
    while block := os.pread(file.fileno(), BLOCK_BYTES, at):
        found = block.find(b"\n")
        if found >= 0:
            return at + found + 1
        at += len(block)
    return at
