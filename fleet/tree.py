"""A project as a list of its entries, files by digest: one blob, the same for equal projects.

The list is msgpack of entries in the order of their paths, each folder before what it holds.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import msgspec

SIZE_MAX = 2**63 - 1
ENTRIES_MAX = 200_000
_HASH = re.compile(r"[0-9a-f]{64}")


class BlobError(Exception):
    """A blob is missing at the engine, or does not match its digest."""


class TreeError(ValueError):
    """A list that is invalid, or has a path that a project cannot have."""


@dataclass(frozen=True, slots=True, order=True)
class Digest:
    """A blob by its content: sha256 in 64 lower-case hexadecimal digits, and its size in bytes."""

    hash: str
    size_bytes: int

    def __post_init__(self) -> None:
        """Refuse digests that a blob cannot have.

        Raises:
            TreeError: it is not a digest of sha256, or the size is negative.
        """
        if not _HASH.fullmatch(self.hash):
            raise TreeError(f"not a digest of sha256: {self.hash[:80]!r}")
        if not 0 <= self.size_bytes <= SIZE_MAX:
            raise TreeError(f"not the size of a blob: {self.size_bytes}")

    def __str__(self) -> str:
        return f"{self.hash}/{self.size_bytes}"


def digest_of(data: bytes) -> Digest:
    """Return the digest of a blob."""
    return Digest(hashlib.sha256(data).hexdigest(), len(data))


def prove(digest: Digest, pieces: Iterable[bytes]) -> Generator[bytes]:
    """Yield the pieces of a blob; all are void if this raises, at the end or if they are too long.

    Raises:
        BlobError: together they do not match the digest.
    """
    seen, size = hashlib.sha256(), 0
    for piece in pieces:
        size += len(piece)
        if size > digest.size_bytes:
            break
        seen.update(piece)
        yield piece
    if (seen.hexdigest(), size) != (digest.hash, digest.size_bytes):
        raise BlobError(f"the content received for {digest} does not match it")


class Entry(NamedTuple):
    """One thing at a relative path: a file by digest, a link by target, else a folder."""

    path: str
    digest: Digest | None = None
    is_executable: bool = False
    target: str | None = None

    @property
    def is_folder(self) -> bool:
        """Return whether the entry is neither a file nor a link."""
        return self.digest is None and self.target is None


_Entries = Annotated[list[Entry], msgspec.Meta(max_length=ENTRIES_MAX)]


def encode_tree(entries: Iterable[Entry]) -> bytes:
    """Write the list of some entries; folders on the way need no entry.

    Raises:
        TreeError: a path is not plain and relative, is listed twice, or goes through a file.
    """
    held: dict[str, Entry] = {}
    for entry in entries:
        folder = entry.path.rpartition("/")[0]
        while folder and folder not in held:
            held[folder] = Entry(folder)
            folder = folder.rpartition("/")[0]
        before = held.get(entry.path)
        if before is not None and not (before.is_folder and entry.is_folder):
            raise TreeError(f"listed twice, or below a file: {entry.path[:80]!r}")
        held[entry.path] = entry
    for entry in held.values():
        _check(entry, held)
    try:
        return msgspec.msgpack.encode([held[path] for path in sorted(held)])
    except UnicodeEncodeError as error:
        raise TreeError(f"a name is not UTF-8: {error.object[error.start - 40 :][:80]!r}") from None


def read_tree(encoded: bytes) -> dict[str, Entry]:
    """Read the entries of a list, by path.

    Raises:
        TreeError: it is not a list of entries, or not in its exact form.
    """
    try:
        entries = {one.path: one for one in msgspec.msgpack.decode(encoded, type=_Entries)}
    except (ValueError, RecursionError) as error:
        raise TreeError(f"not a list of entries: {error}") from error
    if encode_tree(entries.values()) != encoded:
        raise TreeError("an entry is listed twice, in the wrong order, or with extra fields")
    return entries


def _check(entry: Entry, held: Mapping[str, Entry]) -> None:
    """Check an entry, whose folder must be in `held`.

    Raises:
        TreeError: it leads elsewhere, or goes through something that is not a folder.
    """
    folder, slash, name = entry.path.rpartition("/")
    if name in ("", ".", "..") or "\0" in name or bool(slash) is not bool(folder):
        raise TreeError(f"not a plain relative path: {entry.path[:80]!r}")
    if folder and (folder not in held or not held[folder].is_folder):
        raise TreeError(f"not below a folder: {entry.path[:80]!r}")
    if entry.target is not None and (not entry.target or "\0" in entry.target):
        raise TreeError(f"the link {entry.path[:80]!r} has an invalid target")
    is_file = entry.digest is not None
    if (entry.is_executable and not is_file) or (entry.target is not None and is_file):
        raise TreeError(f"neither file, folder nor link: {entry.path[:80]!r}")
