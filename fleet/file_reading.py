"""Reading the files of a project for their digests, and searching them for tokens."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from executor.errors import RequestError
from executor.model import MIB
from executor.project.view.contents import read_up_to
from executor.project.view.record import SETTLED_NS, EntryState, state_of
from executor.project.view.tree import Tree as OpenTree
from fleet.travel import CLOSED, SECRET, Guard
from fleet.tree import Digest, Entry
from policy.secrets.detector import find_form

SEARCHED_BYTES_MAX: Final = MIB
"""Files up to this size are searched for tokens, which takes 40 times as long as a digest."""
READS_MAX = 3
# What opening or reading says of an entry that is gone, or something else by now.
_GONE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO, errno.EISDIR})


class KnownFile(NamedTuple):
    """The findings of reading a file: its digest, and the kind of a token in it, or nothing."""

    digest: Digest
    token: str = ""


@dataclass(frozen=True, slots=True)
class FileReading:
    """Reads files below `project` that are not known, and searches them for tokens.

    What does not travel is `left_out`, each path with its reason.
    """

    project: OpenTree
    guard: Guard
    left_out: dict[str, str]

    def read_all(
        self, files: Mapping[str, EntryState], known: dict[EntryState, KnownFile], began_ns: int
    ) -> Iterator[Entry]:
        """The files that travel, in order of their paths.

        In the end `known` is what was found of these alone, but for those that changed after
        `began_ns`.

        Raises:
            RequestError: one changes whenever it is read.
        """
        settled: dict[EntryState, KnownFile] = {}
        for path, seen in sorted(files.items()):
            state, file = seen, known.get(seen)
            if file is None:
                if (found := self._read(path)) is None:
                    continue
                state, file = found
            if began_ns - state.ctime_ns > SETTLED_NS:
                settled[state] = file
            if file.token:
                self.left_out[path] = file.token
            else:
                yield Entry(path, file.digest, bool(state.mode & stat.S_IXUSR))
        known.clear()
        known.update(settled)

    def _read(self, path: str) -> tuple[EntryState, KnownFile] | None:
        """Read a file, and its state all the while; None where there is no file to send.

        Raises:
            RequestError: it changes whenever it is read.
        """
        for _ in range(READS_MAX):
            try:
                descriptor = self.project.open(path)
            except PermissionError:
                self.left_out[path] = CLOSED
                return None
            except OSError as error:
                if error.errno not in _GONE:
                    raise
                return None
            with open(descriptor, "rb", buffering=0):
                info = os.fstat(descriptor)
                if self.guard.keeps(path, info) or not stat.S_ISREG(info.st_mode):
                    self.left_out[path] = SECRET
                    return None
                before = state_of(info)
                known = _examine(descriptor, before.size)
                if known.digest.size_bytes == before.size and (
                    state_of(os.fstat(descriptor)) == before
                ):
                    return before, known
        raise RequestError(
            f"{path} changed each of the {READS_MAX} times that it was read",
            "wait until nothing writes to it, or name its folder in cluster.leave_out",
        )


def _examine(descriptor: int, expected: int) -> KnownFile:
    """Read an open file, at most a byte more than expected."""
    seen, size, token = hashlib.sha256(), 0, ""
    for piece in read_pieces(descriptor, expected):
        seen.update(piece)
        size += len(piece)
        if expected <= SEARCHED_BYTES_MAX:
            token = find_form(piece)
    return KnownFile(Digest(seen.hexdigest(), size), token)


def read_pieces(descriptor: int, expected: int) -> Iterator[bytes]:
    """Read an open file of which so many bytes are expected, and a byte more if there is one.

    One that is searched for tokens is a single piece.

    Raises:
        OSError: as the kernel reports it.
    """
    left = expected + 1
    while left:
        wanted = min(left, SEARCHED_BYTES_MAX + 1)
        piece = read_up_to(descriptor, wanted)
        yield piece
        left -= len(piece)
        if len(piece) < wanted:
            return
