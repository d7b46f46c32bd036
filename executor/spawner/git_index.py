"""The index of a git repository: what it says of files, by which git knows them for unchanged.

See gitformat-index(5). Nothing of it is trusted: a hostile one is found to be none.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Collection, Iterator, Mapping

_START = struct.Struct(">4sII")
_STAT = struct.Struct(">10I")  # ctime, mtime, device, inode, mode, owner, group, size
_VERSIONS = (2, 3, 4)
_EXTENDED = 0x4000
_STAGE = 0x3000
_LOW = 0xFFFFFFFF
_DIGESTS = (("sha1", 20), ("sha256", 32))
Places = dict[bytes, int]


class GitIndexError(ValueError):
    """It is no index that we can read."""


def find(data: bytes, paths: Collection[bytes]) -> Places:
    """Where the entries of these paths begin, but for what is in conflict.

    Raises:
        GitIndexError: it is no index.
    """
    places: Places = {}
    try:
        for at, stage, path in _entries(data):
            if path in paths and not stage:
                places[path] = at
    except (struct.error, ValueError, IndexError) as error:
        raise GitIndexError("it is no index of git") from error
    return places


def size_of(data: bytes, place: int) -> int:
    """The size of a file as an entry has it; 0: git has not looked at it well enough."""
    return int(_STAT.unpack_from(data, place)[-1])


def with_stat(data: bytes, infos: Mapping[int, os.stat_result]) -> bytes:
    """The index with what is told of files in the entries that begin at these places.

    Raises:
        GitIndexError: it does not end in its own digest.
    """
    kind, size = _digest_of(data)
    made = bytearray(data)
    for place, info in infos.items():
        mode = _STAT.unpack_from(data, place)[6]
        seconds = [divmod(ns, 10**9) for ns in (info.st_ctime_ns, info.st_mtime_ns)]
        owner = info.st_uid, info.st_gid, info.st_size
        fields = (*seconds[0], *seconds[1], info.st_dev, info.st_ino, mode, *owner)
        _STAT.pack_into(made, place, *(field & _LOW for field in fields))
    if any(data[-size:]):  # index.skipHash leaves it out
        made[-size:] = hashlib.new(kind, made[:-size], usedforsecurity=False).digest()
    return bytes(made)


def _digest_of(data: bytes) -> tuple[str, int]:
    """The kind of digest that the repository uses, and its size."""
    for kind, size in _DIGESTS:
        found = hashlib.new(kind, data[:-size], usedforsecurity=False).digest()
        if found == data[-size:]:
            return kind, size
    if not any(data[-20:]):
        return _DIGESTS[bool(not any(data[-32:]))]
    raise GitIndexError("it is damaged")


def _entries(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Of each entry where it begins, its stage and its path."""
    mark, version, count = _START.unpack_from(data)
    if mark != b"DIRC" or version not in _VERSIONS:
        raise GitIndexError("it is no index of git")
    to_flags = _STAT.size + _digest_of(data)[1]
    at, path = _START.size, b""
    for _ in range(count):
        flags = data[at + to_flags] << 8 | data[at + to_flags + 1]
        begin = at + to_flags + (4 if flags & _EXTENDED else 2)
        kept = 0
        if version == 4:
            stripped, begin = _varint(data, begin)
            kept = len(path) - stripped
            if kept < 0:
                raise GitIndexError("it is no index of git")
        end = data.index(b"\0", begin)
        path = path[:kept] + data[begin:end]
        yield at, flags & _STAGE, path
        at = end + 1 if version == 4 else at + ((end - at + 8) & ~7)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number as packs have their offsets, and where it ends."""
    byte = data[at]
    value = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = data[at]
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, at + 1
