"""Reading of untrusted zip archives as streams; nothing is unpacked to a disk.

Other archives are refused with a reason: too large, compressed too well for text, encrypted, with
paths outside, or damaged.
"""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO

from base.plain_files import open_plain
from memory.sessions.importers.whole_json import RefusedError

UNPACKED_BYTES_MAX = 8 << 30
RATIO_MAX = 500
"""Highest compression ratio of human text."""

RATIO_FREE_BYTES = 16 << 20
DIRECTORY_BYTES_MAX = 32 << 20
MEMBERS_MAX = 100_000
_END, _END_BYTES = b"PK\x05\x06", 22
_COMMENT_BYTES_MAX = 65_535
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    struct.error,
)


def is_archive(path: str) -> bool:
    """Return from its first bytes whether a file is a zip archive.

    Raises:
        OSError: it cannot be read, or is a link.
    """
    with open_plain(path, follow=False) as file:
        return file.read(4) in (b"PK\x03\x04", _END)


class _Member:
    """An open member; damage in it only shows during reading."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def read(self, size: int, /) -> bytes:
        try:
            return self._file.read(size)
        except _DAMAGED as error:
            raise RefusedError(f"the archive is damaged ({type(error).__name__})") from error


def open_members(path: str, name: str) -> Iterator[_Member]:
    """Open each member whose name, without its folder, matches the pattern `name`, in order.

    Raises:
        OSError: it cannot be read, or is a link.
        RefusedError: it is refused, for the reason in the text.
    """
    with open_plain(path, follow=False) as file:
        _check_directory(file)
        try:
            with zipfile.ZipFile(file) as archive:
                members = archive.infolist()
                _check_names(members)
                wanted = [one for one in members if re.fullmatch(name, one.filename.split("/")[-1])]
                if not wanted:
                    raise RefusedError("the archive has no conversations.json")
                _check_sizes(wanted)
                for one in sorted(wanted, key=lambda one: one.filename):
                    with archive.open(one) as member:
                        yield _Member(member)
        except _DAMAGED as error:
            raise RefusedError(f"the archive is damaged ({type(error).__name__})") from error


def list_names(path: str) -> list[str]:
    """List the names of an archive's members; empty if it cannot be read."""
    try:
        with open_plain(path, follow=False) as file:
            _check_directory(file)
            with zipfile.ZipFile(file) as archive:
                return archive.namelist()
    except (OSError, ValueError, *_DAMAGED):
        return []


def _check_directory(file: IO[bytes]) -> None:
    """Refuse a table of contents that would not fit in memory, before reading it."""
    end = file.seek(0, 2)
    file.seek(max(end - _END_BYTES - _COMMENT_BYTES_MAX, 0))
    tail = file.read()
    at = tail.rfind(_END)
    file.seek(0)
    if at < 0 or len(tail) - at < _END_BYTES:
        raise RefusedError("the archive is damaged: it has no end")
    (directory_bytes,) = struct.unpack_from("<I", tail, at + 12)
    if DIRECTORY_BYTES_MAX < directory_bytes < 0xFFFFFFFF or end > UNPACKED_BYTES_MAX:
        raise RefusedError("the archive's table of contents is too large")
    if directory_bytes == 0xFFFFFFFF:  # the size is in another record
        raise RefusedError("the archive has more members than an export")


def _check_names(members: list[zipfile.ZipInfo]) -> None:
    if len(members) > MEMBERS_MAX:
        raise RefusedError(f"the archive has more than {MEMBERS_MAX} members")
    for one in members:
        parts = one.filename.replace("\\", "/").split("/")
        if ".." in parts or one.filename[:1] in ("/", "\\") or ":" in parts[0]:
            raise RefusedError("the archive has a path outside itself")


def _check_sizes(members: list[zipfile.ZipInfo]) -> None:
    total = sum(one.file_size for one in members)
    if total > UNPACKED_BYTES_MAX:
        raise RefusedError(f"the archive unpacks to more than {UNPACKED_BYTES_MAX >> 30} GiB")
    for one in members:
        if one.flag_bits & 1:
            raise RefusedError("the archive is encrypted: unpack it first")
        packed = max(one.compress_size, 1)
        if one.file_size > RATIO_FREE_BYTES and one.file_size > packed * RATIO_MAX:
            raise RefusedError("the archive unpacks to more than text can: it may be a zip bomb")
