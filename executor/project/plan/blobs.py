"""Whether a content was in one of the project's git repositories before a run.

What earlier runs brought in does not count: else one could plant what the next checks out. Read
are object names alone, from the files in which git lists them; no git is run.
"""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import os
import re
import struct
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from executor.project.plan.object_stores import stores
from executor.project.store.manifest import Change
from executor.project.store.outcome import CommitError
from executor.project.view.contents import digest
from executor.project.view.record import Record
from executor.project.view.tree import Tree

KINDS = {20: "sha1", 32: "sha256"}  # of names, by their bytes
OBJECTS_MAX = 4_000_000
FILE_BYTES_MAX = 64 << 20  # of what may be committed for having been there
_LOOSE = re.compile(r"objects/([0-9a-f]{2})/([0-9a-f]{38}|[0-9a-f]{62})\Z")
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
        return self._find(change.path, lambda kind: self._name(change, kind), self.ours.names)

    def has_present(self, path: str) -> bool:
        """Whether the file that the project has at a path now is in a repository around it."""

        def name(kind: str) -> bytes:
            info = self.project.info(path)
            if info is None or info.st_size > FILE_BYTES_MAX:
                return b""
            return bytes.fromhex(digest(self.project, path, kind, b"blob %d\0" % info.st_size))

        return self._find(path, name, frozenset())

    def had_object(self, objects: str, name: bytes) -> bool:
        """Whether a folder of objects had one before the run that no earlier run brought in."""
        if name in self.ours.names:
            return False
        return self._is_loose(objects, name) or self._is_packed(objects, name)

    def _find(self, path: str, name: Callable[[str], bytes], but: Container[bytes]) -> bool:
        names: dict[int, bytes] = {}
        for objects in stores(path, self.record, self.project):
            for size, kind in KINDS.items():
                if size not in names:
                    names[size] = _or_none(name, kind)
            known = (each for each in names.values() if each and each not in but)
            if any(
                self._is_loose(objects, each) or self._is_packed(objects, each) for each in known
            ):
                return True
        return False

    def _name(self, change: Change, kind: str) -> bytes:
        """The name by which git knows a content; none for what it can't have."""
        if change.kind == "link":
            target = os.fsencode(change.target)
            preamble = b"blob %d\0" % len(target)
            return hashlib.new(kind, preamble + target, usedforsecurity=False).digest()
        # Nearly every repository has the empty content, which no path of it tells from another.
        if change.kind == "file" and 0 < change.size <= FILE_BYTES_MAX:
            preamble = b"blob %d\0" % change.size
            return bytes.fromhex(digest(self.contents, change.path, kind, preamble))
        return b""

    def _is_loose(self, objects: str, name: bytes) -> bool:
        text = name.hex()
        return f"{objects}/{text[:2]}/{text[2:]}" in self.record.states

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


def _or_none(name: Callable[[str], bytes], kind: str) -> bytes:
    try:
        return name(kind)
    except OSError:
        return b""


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


def _count(index: mmap.mmap) -> tuple[int, int]:
    """How many names a list has, and the bytes of each: they follow from its size."""
    (count,) = struct.unpack_from(">I", index, _NAMES_AT - 4)
    for size in KINDS:
        # A checksum and an offset each, far offsets for some of them, and two digests.
        far, rest = divmod(len(index) - _NAMES_AT - count * (size + 8) - 2 * size, 8)
        if not rest and 0 <= far <= count:
            return int(count), size
    return 0, min(KINDS)


def _has(index: mmap.mmap, name: bytes) -> bool:
    """Look a name up among the sorted ones."""
    count, size = _count(index)
    low, high = 0, count if len(name) == size else 0
    while low < high:
        middle = (low + high) // 2
        at = _NAMES_AT + middle * size
        found = index[at : at + size]
        if found == name:
            return True
        low, high = (middle + 1, high) if found < name else (low, middle)
    return False


class Ours:
    """The names of objects that runs brought into a project's repositories."""

    def __init__(self, path: Path) -> None:
        self._paths = {20: path, 32: path.with_name(f"{path.name}.sha256")}
        self._names: set[bytes] | None = None

    @property
    def names(self) -> set[bytes]:
        """All of them."""
        if self._names is None:
            self._names = set()
            for size, path in self._paths.items():
                with contextlib.suppress(FileNotFoundError):
                    self._names |= _cut(path.read_bytes(), size)
        return self._names

    def add(self, names: Iterable[bytes]) -> None:
        """Remember more, before they are committed.

        Raises:
            OSError: the store can't be written.
        """
        new = set(names) - self.names
        for size, path in self._paths.items():
            own = sorted(name for name in new if len(name) == size)
            if own:
                _append(path, own, size)
        self.names.update(new)


def _append(path: Path, names: Sequence[bytes], size: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with open(path, "ab") as file:
        file.seek(file.tell() - file.tell() % size)
        file.truncate()  # half a name, where a writer died
        file.write(b"".join(names))


def _cut(data: bytes, size: int) -> set[bytes]:
    """Names that follow one another, but for half a one at the end."""
    return {data[at : at + size] for at in range(0, len(data) - size + 1, size)}


def list_added_objects(
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
    return new - _list_objects(record, project) if packed else new


def _list_objects(record: Record, project: Tree) -> set[bytes]:
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
        count, size = _count(index)
        if count > OBJECTS_MAX:
            raise CommitError(f"{path} lists more than {OBJECTS_MAX:,} objects")
        return _cut(index[_NAMES_AT : _NAMES_AT + count * size], size)
