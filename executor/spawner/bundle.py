"""A folder's entries as one stream. A supervisor packs it when every process of a run is dead.

So no program makes the archive that the server reads: see `executor/engine/unpacking.py`.
"""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from .kernel import open_beneath

# Kind, length of the name, mode, seconds, nanoseconds, size. Name and content follow.
ENTRY = struct.Struct("=cIIqIQ")
FIRST, AGAIN, END = b"f", b"a", b"e"  # an entry, a second name of a file, the stream's end
ITSELF = os.O_PATH | os.O_NOFOLLOW  # also where it is a link
BLOCK_BYTES = 1 << 20


class TooLargeError(Exception):
    """The files of a folder have more bytes than may be handed back."""


def walk(top: int, names: Iterable[str]) -> Iterator[str]:
    """List the paths of these entries of a folder and of all below them. Links are not followed."""
    pending = sorted(names, reverse=True)
    while pending:
        path = pending.pop()
        yield path
        entry = open_beneath(top, path, ITSELF)
        try:
            if not stat.S_ISDIR(os.fstat(entry).st_mode):
                continue
        finally:
            os.close(entry)
        folder = open_beneath(top, path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            pending += (f"{path}/{name}" for name in sorted(os.listdir(folder), reverse=True))
        finally:
            os.close(folder)


def pack(top: int, paths: Iterable[str], bytes_max: int | None = None) -> int:
    """Pack the entries at these paths of a folder into a file in memory, whose descriptor this is.

    An entry of any kind is packed; the reader refuses devices and their like.

    Raises:
        TooLargeError: their contents are larger than `bytes_max`.
        StepError, OSError: an entry can't be read, or there is no memory.
    """
    target = os.memfd_create("bundle", os.MFD_CLOEXEC)
    try:
        with open(os.dup(target), "wb") as out:
            packing = _Packing(out, top, bytes_max)
            for path in paths:
                packing.add(path)
            out.write(ENTRY.pack(END, 0, 0, 0, 0, 0))
        os.lseek(target, 0, os.SEEK_SET)
    except BaseException:
        os.close(target)
        raise
    return target


class _Packing:
    def __init__(self, out: BinaryIO, top: int, bytes_max: int | None) -> None:
        self._out = out
        self._top = top
        self._room = bytes_max
        self._linked: dict[tuple[int, int], bytes] = {}  # the first name of each file with several

    def add(self, path: str) -> None:
        entry = open_beneath(self._top, path, ITSELF)
        try:
            info = os.fstat(entry)
            if stat.S_ISLNK(info.st_mode):
                self._write(FIRST, path, info, os.readlink(b"", dir_fd=entry))
            elif not stat.S_ISREG(info.st_mode):
                self._write(FIRST, path, info, b"")
            elif first := self._linked.get((info.st_dev, info.st_ino)):
                self._write(AGAIN, path, info, first)
            else:
                self._add_file(path, info)
        finally:
            os.close(entry)

    def _add_file(self, path: str, info: os.stat_result) -> None:
        if info.st_nlink > 1:
            self._linked[info.st_dev, info.st_ino] = os.fsencode(path)
        if self._room is not None:
            self._room -= info.st_size
            if self._room < 0:
                raise TooLargeError
        self._write(FIRST, path, info, None)
        source = open_beneath(self._top, path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            left = info.st_size
            while left and (block := os.read(source, min(left, BLOCK_BYTES))):
                self._out.write(block)
                left -= len(block)
        finally:
            os.close(source)
        if left:
            raise OSError(f"{path} became shorter while it was read")

    def _write(self, kind: bytes, path: str, info: os.stat_result, content: bytes | None) -> None:
        """Write the head of an entry, and its `content` unless that is a file's."""
        name = os.fsencode(path)
        size = info.st_size if content is None else len(content)
        seconds, rest = divmod(info.st_mtime_ns, 10**9)
        self._out.write(ENTRY.pack(kind, len(name), info.st_mode, seconds, rest, size))
        self._out.write(name + (content or b""))
