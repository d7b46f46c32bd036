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
from typing import NamedTuple

from executor.project.plan.object_stores import stores
from executor.project.store.manifest import Change
from executor.project.store.outcome import CommitError
from executor.project.view.contents import digest
from executor.project.view.record import Record
from executor.project.view.tree import Tree

KINDS = {20: "sha1", 32: "sha256"}  # of names, by their bytes
OBJECTS_MAX = 4_000_000
FILE_BYTES_MAX = 64 << 20  # of what may be committed for having been there
# Alternates may lead to a folder of any name.
_LOOSE = re.compile(r"(?:\A|/)([0-9a-f]{2})/([0-9a-f]{38}|[0-9a-f]{62})\Z")
_INDEX = re.compile(r"(?:\A|/)pack/[^/]+\.idx\Z")  # git reads any name
_INDEX_START = b"\xfftOc\0\0\0\x02"  # gitformat-pack(5): version 2; the first has no such bytes
_FANOUT_BYTES = 256 * 4


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
        paths = (path for each in sorted(names) if _INDEX.search(path := f"{objects}/pack/{each}"))
        for path in paths:
            with contextlib.suppress(OSError), _index(self.project, path) as known:
                if any(each.has(name) for each in known):
                    return True
        return False


def _or_none(name: Callable[[str], bytes], kind: str) -> bytes:
    try:
        return name(kind)
    except OSError:
        return b""


class _Names(NamedTuple):
    """The sorted names of a list of packed objects: `length` of `size` bytes, `step` from one to
    the next."""

    data: mmap.mmap
    start: int
    length: int
    size: int
    step: int

    def at(self, number: int) -> bytes:
        """One of them."""
        start = self.start + number * self.step
        return self.data[start : start + self.size]

    def has(self, name: bytes) -> bool:
        """Look a name up."""
        low, high = 0, self.length if len(name) == self.size else 0
        while low < high:
            middle = (low + high) // 2
            found = self.at(middle)
            if found == name:
                return True
            low, high = (middle + 1, high) if found < name else (low, middle)
        return False


@contextmanager
def _index(tree: Tree, path: str) -> Iterator[tuple[_Names, ...]]:
    """Open a list of packed objects, in each form in which git may read it.

    Raises:
        OSError: it cannot be opened.
    """
    descriptor = tree.open(path)
    try:
        if os.fstat(descriptor).st_size < _FANOUT_BYTES:
            yield ()
            return
        with mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ) as data:
            yield tuple(_read_names(data))
    finally:
        os.close(descriptor)


def _read_names(data: mmap.mmap) -> Iterator[_Names]:
    """Find the names in a list. The repository's kind of names is not asked: a size fits or not."""
    is_second = data[: len(_INDEX_START)] == _INDEX_START
    start = len(_INDEX_START) * is_second + _FANOUT_BYTES
    if len(data) < start:
        return
    (count,) = struct.unpack_from(">I", data, start - 4)
    for size in KINDS:
        rest = len(data) - start - count * (size + 4) - 2 * size  # two digests end it
        if not is_second and not rest:  # each name stands behind its offset
            yield _Names(data, start + 4, count, size, size + 4)
        # Checksums, offsets and far offsets, which git does not count.
        if is_second and 4 * count <= rest <= 12 * count:
            yield _Names(data, start, count, size, size)


class Ours:
    """The names of objects that runs brought in, kept in a file for each project.

    Those of all projects count in each: one may lie in another, or get another name.
    """

    def __init__(self, path: Path) -> None:
        self._paths = {20: path, 32: path.with_name(f"{path.name}.sha256")}
        self._names: set[bytes] | None = None

    @property
    def names(self) -> set[bytes]:
        """All of them."""
        if self._names is None:
            self._names = set()
            for path in self._paths[20].parent.glob("*"):
                self._names |= _cut(path.read_bytes(), 32 if path.suffix == ".sha256" else 20)
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
        CommitError: there are too many to look through, or a list cannot be read.
    """
    loose: set[bytes] = set()
    packed: set[bytes] = set()
    for change in applied:
        if change.change not in ("created", "modified"):
            continue
        if found := _LOOSE.search(change.path):
            loose.add(bytes.fromhex(found[1] + found[2]))
        elif _INDEX.search(change.path):
            packed |= _read_added(contents, change.path)
    if not loose and not packed:
        return set()
    new = loose | packed
    return new - _list_objects(record, project) if packed else new


def _read_added(contents: Tree, path: str) -> set[bytes]:
    try:
        return _names_in(contents, path)
    except CommitError:
        raise
    except OSError as error:
        raise CommitError(
            f"{path} cannot be read ({error.strerror}), and may list objects of git",
            "Let the program leave it readable, or remove it.",
        ) from error


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
        with contextlib.suppress(FileNotFoundError, PermissionError):
            known |= _names_in(project, path)
    return known


def _names_in(tree: Tree, path: str) -> set[bytes]:
    with _index(tree, path) as known:
        if any(each.length > OBJECTS_MAX for each in known):
            raise CommitError(f"{path} lists more than {OBJECTS_MAX:,} objects")
        return {each.at(number) for each in known for number in range(each.length)}
