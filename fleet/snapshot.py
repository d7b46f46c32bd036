"""A project as a tree of digests, and the contents of its blobs."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

import trio

from executor.model import MIB
from executor.project.view.search import ProjectSearch
from executor.project.view.tree import Tree as OpenTree
from executor.project.view.walking import FOLDER_FLAGS
from fleet.file_reading import SEARCHED_BYTES_MAX, FileReading, KnownFile, read_up_to
from fleet.model import Open
from fleet.travel import FileState, Guard, LeftOut, StaysHereError, Terms, look_at
from fleet.tree import Digest, Tree, TreeError, build

T = TypeVar("T")


class ChangedError(Exception):
    """A file that is no longer what the snapshot says: a new one has to be taken."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A project as it was when it was looked at: its tree, where each file's content is, the rest.

    Contents are read again when they are sent, and only sent if they are still the same.
    """

    project: str
    tree: Tree
    files: Mapping[Digest, str]  # the relative path of one file with that content
    left_out: tuple[LeftOut, ...]
    size_bytes: int
    entries: int

    @property
    def digests(self) -> tuple[Digest, ...]:
        """All blobs of it: its list, then files."""
        return (self.tree.root, *self.files)

    @property
    def unseen(self) -> frozenset[str]:
        """Paths of the project that do not travel."""
        return frozenset(left.path for left in self.left_out)

    def open_blobs(self, digests: Iterable[Digest]) -> Mapping[Digest, Open]:
        """Return what reads each of some blobs."""
        return {one: partial(self.read, one) for one in digests}

    def read(self, digest: Digest) -> Iterator[bytes]:
        """The content of a blob in pieces.

        One that was searched for tokens is a single piece, and is compared before it is given out.

        Raises:
            KeyError: it is not of this snapshot.
            ChangedError: the file is another one by now.
        """
        if digest == self.tree.root:
            yield self.tree.encoded
            return
        path = self.files[digest]
        try:
            yield from _proven(self._open(path), digest)
        except OSError as error:
            raise ChangedError(f"{path}: {error.strerror}") from error
        except ChangedError:
            raise ChangedError(f"{path} changed after it was looked at") from None

    def _open(self, path: str) -> int:
        top = os.open(self.project, FOLDER_FLAGS)
        try:
            with OpenTree(top) as project:
                return project.open(path)
        finally:
            os.close(top)


def _proven(file: int, digest: Digest) -> Iterator[bytes]:
    """The pieces of an open file, which is closed; small ones as a whole, once they are proven.

    Raises:
        ChangedError: that is not its content.
    """
    with open(file, "rb", buffering=0) as content:
        if digest.size_bytes <= SEARCHED_BYTES_MAX:
            data = read_up_to(content.fileno(), SEARCHED_BYTES_MAX + 1)
            if Digest(hashlib.sha256(data).hexdigest(), len(data)) != digest:
                raise ChangedError
            yield data
            return
        seen, size = hashlib.sha256(), 0
        while size <= digest.size_bytes and (piece := content.read(MIB)):
            seen.update(piece)
            size += len(piece)
            yield piece
        if (seen.hexdigest(), size) != (digest.hash, digest.size_bytes):
            raise ChangedError


def take(search: ProjectSearch, terms: Terms, known: dict[FileState, KnownFile]) -> Snapshot:
    """Look at a project and read what is not `known` of it; what is known then stands there.

    Raises:
        RequestError: it is over a cap, or a file changes whenever it is read.
        StaysHereError: a name is no UTF-8, which no tree of digests holds.
        OSError: it can't be listed.
    """
    began = time.time_ns()
    guard = Guard(search)
    top = os.open(search.project, FOLDER_FLAGS)
    try:
        look = look_at(top, guard, terms)
        with OpenTree(top) as project:
            reading = FileReading(project, guard, known, began)
            entries = [*look.others, *reading.read_all(look.files)]
    finally:
        os.close(top)
    try:
        tree = build(entries)
    except TreeError as error:
        raise StaysHereError(str(error)) from error
    known.clear()  # also of files that are gone
    known.update(reading.known)
    contents = {e.digest: e.path for e in entries if e.digest is not None}
    left_out = (*look.left_out, *reading.left_out)
    return Snapshot(
        project=str(search.project),
        tree=tree,
        files=contents,
        left_out=tuple(sorted(left_out, key=lambda one: one.path)),
        size_bytes=sum(e.digest.size_bytes for e in entries if e.digest is not None),
        entries=len(entries),
    )


class SharedLooks(Generic[T]):
    """Looks one after the other, each for all who asked before it began.

    So a thousand runs that come at once cost two looks, and nobody waits behind another's thousand.
    """

    def __init__(self, look: Callable[[], Awaitable[T]]) -> None:
        self._look = look
        self._turn = trio.Lock()
        self._asked = 0
        self._answered = 0  # how many of those who asked
        self._found: T

    async def look(self) -> T:
        """Return what a look finds that begins from now on.

        Raises:
            Exception: what the look raised; the next who waits looks itself.
        """
        self._asked += 1
        mine = self._asked
        async with self._turn:
            if self._answered < mine:
                asked = self._asked
                # Others wait for it: who looks does not take it along when it goes.
                with trio.CancelScope(shield=True):
                    self._found = await self._look()
                self._answered = asked
            return self._found
