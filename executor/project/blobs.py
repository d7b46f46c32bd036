"""Whether a content was in one of the project's git repositories before a run.

What earlier runs brought in does not count: else one could plant what the next checks out. Read
are object names alone, from the files in which git lists them; no git is run.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import re
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from executor.project.contents import digest
from executor.project.manifest import Change
from executor.project.outcome import CommitError
from executor.project.record import Record
from executor.project.tree import Tree, split

NAME_BYTES = 20  # of SHA-1; contents of a repository of SHA-256 are held
OBJECTS_MAX = 4_000_000
FILE_BYTES_MAX = 64 << 20  # of what may be committed for having been there
_LOOSE = re.compile(r"objects/([0-9a-f]{2})/([0-9a-f]{38})\Z")
_INDEX = re.compile(r"objects/pack/pack-[0-9a-f]+\.idx\Z")
_INDEX_START = b"\xfftOc\0\0\0\x02"  # gitformat-pack(5): version 2
_NAMES_AT = 8 + 256 * 4


class Blobs:
    """The contents that a project's repositories had, but for those that runs brought in."""

    def __init__(self, record: Record, project: Tree, contents: Tree, ours: Ours) -> None:
        self.record = record
        self.project = project
        self.contents = contents
        self.ours = ours

    def had(self, change: Change) -> bool:
        """Whether what a change leaves at its path was in a repository around that path."""
        name = self._name(change)
        return bool(name) and name not in self.ours.names and self._is_known(change.path, name)

    def _name(self, change: Change) -> bytes:
        """The name by which git knows a content; none for what it can't have."""
        try:
            if change.kind == "link":
                target = os.fsencode(change.target)
                made = hashlib.sha1(b"blob %d\0" % len(target), usedforsecurity=False)
                made.update(target)
                return made.digest()
            # Nearly every repository has the empty content, which no path of it tells from another.
            if change.kind == "file" and 0 < change.size <= FILE_BYTES_MAX:
                preamble = b"blob %d\0" % change.size
                return bytes.fromhex(digest(self.contents, change.path, "sha1", preamble))
        except OSError:
            pass
        return b""

    def _is_known(self, path: str, name: bytes) -> bool:
        text = name.hex()
        for objects in self._stores(path):
            loose = f"{objects}/{text[:2]}/{text[2:]}"
            if loose in self.record.states or self._is_packed(objects, name):
                return True
        return False

    def _stores(self, path: str) -> Iterator[str]:
        """The folders of objects of the repositories around a path."""
        while path:
            path, _ = split(path)
            objects = f"{path}/.git/objects" if path else ".git/objects"
            if objects in self.record.states:
                yield objects

    def _is_packed(self, objects: str, name: bytes) -> bool:
        try:
            names = os.listdir(self.project.folder(f"{objects}/pack"))
        except OSError:
            return False
        paths = (f"{objects}/pack/{each}" for each in sorted(names) if each.endswith(".idx"))
        for path in paths:
            with _index(self.project, path) as index:
                if index is not None and _has(index, name):
                    return True
        return False


@contextmanager
def _index(tree: Tree, path: str) -> Iterator[mmap.mmap | None]:
    """A list of packed objects; None where it is none that we can read."""
    try:
        descriptor = tree.open(path)
    except OSError:
        yield None
        return
    try:
        if os.fstat(descriptor).st_size <= _NAMES_AT:
            yield None
            return
        with mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ) as index:
            yield index if index[: len(_INDEX_START)] == _INDEX_START else None
    finally:
        os.close(descriptor)


def _count(index: mmap.mmap) -> int:
    (count,) = struct.unpack_from(">I", index, _NAMES_AT - 4)
    return min(int(count), (len(index) - _NAMES_AT) // NAME_BYTES)


def _has(index: mmap.mmap, name: bytes) -> bool:
    """Look a name up among the sorted ones."""
    low, high = 0, _count(index)
    while low < high:
        middle = (low + high) // 2
        at = _NAMES_AT + middle * NAME_BYTES
        found = index[at : at + NAME_BYTES]
        if found == name:
            return True
        low, high = (middle + 1, high) if found < name else (low, middle)
    return False


class Ours:
    """The names of objects that runs brought into a project's repositories."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._names: set[bytes] | None = None

    @property
    def names(self) -> set[bytes]:
        """All of them."""
        if self._names is None:
            try:
                data = self.path.read_bytes()
            except FileNotFoundError:
                data = b""
            self._names = {data[at : at + NAME_BYTES] for at in range(0, len(data), NAME_BYTES)}
        return self._names

    def add(self, names: Iterable[bytes]) -> None:
        """Remember more, before they are committed.

        Raises:
            OSError: the store can't be written.
        """
        new = set(names) - self.names
        if not new:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with open(self.path, "ab") as file:
            file.seek(file.tell() - file.tell() % NAME_BYTES)
            file.truncate()  # half a name, where a writer died
            file.write(b"".join(sorted(new)))
        self.names.update(new)


def brought_in(
    applied: Iterable[Change], record: Record, project: Tree, contents: Tree
) -> set[bytes]:
    """The names of objects that a commit adds to what the project's repositories have.

    Raises:
        CommitError: there are too many to look through.
    """
    loose: set[bytes] = set()
    packed: set[bytes] = set()
    for change in applied:
        if change.change not in ("created", "modified"):
            continue
        if found := _LOOSE.search(change.path):
            loose.add(bytes.fromhex(found[1] + found[2]))
        elif _INDEX.search(change.path):
            packed |= _names_in(contents, change.path)
    if not loose and not packed:
        return set()
    new = loose | packed
    return new - _known(record, project) if packed else new


def _known(record: Record, project: Tree) -> set[bytes]:
    """Every object that the project's repositories have."""
    known: set[bytes] = set()
    packs = set()
    for path in record.states:
        if "objects/" not in path:
            continue
        if found := _LOOSE.search(path):
            known.add(bytes.fromhex(found[1] + found[2]))
        elif _INDEX.search(path):
            packs.add(path)
    for path in packs:
        known |= _names_in(project, path)
    return known


def _names_in(tree: Tree, path: str) -> set[bytes]:
    with _index(tree, path) as index:
        if index is None:
            return set()
        count = _count(index)
        if count > OBJECTS_MAX:
            raise CommitError(f"{path} lists more than {OBJECTS_MAX:,} objects")
        data = index[_NAMES_AT : _NAMES_AT + count * NAME_BYTES]
    return {data[at : at + NAME_BYTES] for at in range(0, len(data), NAME_BYTES)}
