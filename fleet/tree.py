"""A project as a list of its entries, files by digest: one blob, the same for equal projects.

The list is text in UTF-8. Each entry is a letter and its path, then a value, both ended by NUL:
`f` a file and `x` an executable one, with hash and size; `d` a folder; `l` a link with its target.
Entries are in the order of their paths, each folder before what it holds.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from fleet.errors import BlobError

SIZE_MAX = 2**63 - 1
ENTRIES_MAX = 200_000
_HASH = re.compile(r"[0-9a-f]{64}")
_SIZE = re.compile(r"0|[1-9][0-9]{0,18}")


class TreeError(ValueError):
    """A list that is none, or holds a path that no project can."""


@dataclass(frozen=True, slots=True, order=True)
class Digest:
    """A blob by its content: sha256 in 64 lower-case hexadecimal digits, and its size in bytes."""

    hash: str
    size_bytes: int

    def __post_init__(self) -> None:
        """Refuse what no blob has.

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
    """Pass pieces of a blob on; they are void if this raises, at the end or once they are too much.

    Raises:
        BlobError: in all they are not what the digest says.
    """
    seen, size = hashlib.sha256(), 0
    for piece in pieces:
        size += len(piece)
        if size > digest.size_bytes:
            break
        seen.update(piece)
        yield piece
    if (seen.hexdigest(), size) != (digest.hash, digest.size_bytes):
        raise BlobError(f"what came as {digest} has another content")


class Entry(NamedTuple):
    """One thing at a relative path: a file by digest, a link by target, else a folder."""

    path: str
    digest: Digest | None = None
    is_executable: bool = False
    target: str | None = None

    @property
    def is_folder(self) -> bool:
        """True if it is neither a file nor a link."""
        return self.digest is None and self.target is None


@dataclass(frozen=True, slots=True)
class Tree:
    """The encoded list of a project's entries, and its digest."""

    root: Digest
    encoded: bytes


def build(entries: Iterable[Entry]) -> Tree:
    """Build the tree of some entries; folders on the way need no entry of their own.

    Raises:
        TreeError: a path is not plain and relative, stands twice, or leads through a file.
    """
    held: dict[str, Entry] = {}
    for entry in entries:
        folder = entry.path.rpartition("/")[0]
        while folder and folder not in held:
            held[folder] = Entry(folder)
            folder = folder.rpartition("/")[0]
        before = held.get(entry.path)
        if before is not None and not (before.is_folder and entry.is_folder):
            raise TreeError(f"it stands twice, or leads through a file: {entry.path[:80]!r}")
        held[entry.path] = entry
    for entry in held.values():
        _check(entry, held)
    try:
        encoded = "".join(_line(held[path]) for path in sorted(held)).encode()
    except UnicodeEncodeError as error:
        raise TreeError(f"a name is not UTF-8: {error.object[error.start - 40 :][:80]!r}") from None
    return Tree(digest_of(encoded), encoded)


def read_tree(encoded: bytes) -> dict[str, Entry]:
    """Read the entries of a list, by path.

    Raises:
        TreeError: it is none.
    """
    if encoded.count(b"\0") > 2 * ENTRIES_MAX:
        raise TreeError(f"it has over {ENTRIES_MAX:,} entries")
    try:
        fields = encoded.decode().split("\0")
    except UnicodeDecodeError as error:
        raise TreeError("a name is not UTF-8") from error
    if fields.pop() or len(fields) % 2:
        raise TreeError("it is cut short")
    entries: dict[str, Entry] = {}
    last = ""
    for head, value in zip(fields[::2], fields[1::2], strict=True):
        entry = _read(head[:1], head[1:], value)
        if entry.path <= last:
            raise TreeError(f"it stands twice, or in another place: {entry.path[:80]!r}")
        _check(entry, entries)
        entries[entry.path] = entry
        last = entry.path
    return entries


def _check(entry: Entry, held: Mapping[str, Entry]) -> None:
    """Check an entry, whose folder is among those that are held.

    Raises:
        TreeError: it leads elsewhere, or through what is not a folder.
    """
    folder, slash, name = entry.path.rpartition("/")
    if name in ("", ".", "..") or "\0" in name or bool(slash) is not bool(folder):
        raise TreeError(f"not a plain relative path: {entry.path[:80]!r}")
    if folder and (folder not in held or not held[folder].is_folder):
        raise TreeError(f"it leads through what is not a folder: {entry.path[:80]!r}")
    if entry.target is not None and (not entry.target or "\0" in entry.target):
        raise TreeError(f"the link {entry.path[:80]!r} can't lead anywhere")


def _line(entry: Entry) -> str:
    if entry.target is not None:
        return f"l{entry.path}\0{entry.target}\0"
    if entry.digest is None:
        return f"d{entry.path}\0\0"
    kind = "x" if entry.is_executable else "f"
    return f"{kind}{entry.path}\0{entry.digest.hash} {entry.digest.size_bytes}\0"


def _read(kind: str, path: str, value: str) -> Entry:
    if kind == "l":
        return Entry(path, target=value)
    if kind == "d" and not value:
        return Entry(path)
    hashed, _, size = value.partition(" ")
    if kind not in ("f", "x") or not _SIZE.fullmatch(size):
        raise TreeError(f"not an entry: {(kind + path)[:80]!r}")
    return Entry(path, Digest(hashed, int(size)), kind == "x")
