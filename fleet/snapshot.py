"""A project as a tree of digests, and the contents of its blobs."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

import trio

from executor.project.view.record import EntryState
from executor.project.view.search import ProjectSearch
from executor.project.view.tree import FOLDER_FLAGS
from executor.project.view.tree import Tree as OpenTree
from fleet.file_reading import FileReading, KnownFile, read_pieces
from fleet.travel import Guard, StaysHereError, Terms, look_at
from fleet.tree import Digest, Tree, TreeError, build

T = TypeVar("T")


class ChangedError(Exception):
    """A file that is no longer what the snapshot says: a new one has to be taken."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A project as it was when it was looked at: its tree, where each file's content is, the rest.

    `files` has the path of one file with each content; contents are read again when they are sent,
    and only sent if they are still the same. What is `left_out` does not travel: each path with the
    reason in a word.
    """

    project: str
    tree: Tree
    files: Mapping[Digest, str]
    left_out: Mapping[str, str]

    @property
    def digests(self) -> tuple[Digest, ...]:
        """All blobs of it: its list, then files."""
        return (self.tree.root, *self.files)

    def read(self, digest: Digest) -> Iterator[bytes]:
        """The content of a blob in pieces.

        The last one is given out once all is compared. Of what was searched for tokens it is the
        only one.

        Raises:
            KeyError: it is not of this snapshot.
            ChangedError: the file is another one by now.
        """
        if digest == self.tree.root:
            yield self.tree.encoded
            return
        path = self.files[digest]
        seen, size, last = hashlib.sha256(), 0, b""
        try:
            with open(self._open(path), "rb", buffering=0) as file:
                for piece in read_pieces(file.fileno(), digest.size_bytes):
                    if last:
                        yield last
                    seen.update(piece)
                    size += len(piece)
                    last = piece
        except OSError as error:
            raise ChangedError(f"{path}: {error.strerror}") from error
        if (seen.hexdigest(), size) != (digest.hash, digest.size_bytes):
            raise ChangedError(f"{path} changed after it was looked at")
        yield last

    def _open(self, path: str) -> int:
        top = os.open(self.project, FOLDER_FLAGS)
        try:
            with OpenTree(top) as project:
                return project.open(path)
        finally:
            os.close(top)


def take(search: ProjectSearch, terms: Terms, known: dict[EntryState, KnownFile]) -> Snapshot:
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
            reading = FileReading(project, guard, look.left_out)
            entries = [*look.others, *reading.read_all(look.files, known, began)]
    finally:
        os.close(top)
    try:
        tree = build(entries)
    except TreeError as error:
        raise StaysHereError(str(error)) from error
    contents = {e.digest: e.path for e in entries if e.digest is not None}
    return Snapshot(str(search.project), tree, contents, look.left_out)


class SharedLooks(Generic[T]):
    """Looks one after the other, each for all who asked before it began.

    So a thousand runs that come at once cost two looks, and nobody waits behind another's thousand.
    """

    def __init__(self, look: Callable[[], Awaitable[T]]) -> None:
        self._look = look
        self._turn = trio.Lock()
        self._begun = 0
        self._found_by = 0  # the number of the look that found it
        self._found: T

    async def look(self) -> T:
        """Return what a look finds that begins from now on.

        Raises:
            Exception: what the look raised; the next who waits looks itself.
        """
        begun = self._begun
        async with self._turn:
            if self._found_by <= begun:
                self._begun += 1
                # Others wait for it: who looks does not take it along when it goes.
                with trio.CancelScope(shield=True):
                    self._found = await self._look()
                self._found_by = self._begun
            return self._found
