"""Reading the files of a project for their digests, and searching them for tokens."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from executor.errors import RequestError
from executor.model import MIB
from executor.project.view.listing import SETTLED_NS
from executor.project.view.tree import Tree as OpenTree
from fleet.travel import FileState, Guard, LeftOut, Reason, SeenFile, state_of
from fleet.tree import Digest, Entry
from policy.secrets.blocks import find_private_keys
from policy.secrets.tokens import find_tokens

SEARCHED_BYTES_MAX: Final = MIB
"""Files up to this size are searched for tokens, which takes 40 times as long as a digest."""
READS_MAX = 3
# What opening or reading says of an entry that is gone, or something else by now.
_GONE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO, errno.EISDIR})


class KnownFile(NamedTuple):
    """The findings of reading a file: its sha256, and the kind of a token in it, or nothing."""

    hash: str
    token: str = ""


class FileReading:
    """Reads files that are not known, and searches them for tokens."""

    def __init__(
        self,
        project: OpenTree,
        guard: Guard,
        known: Mapping[FileState, KnownFile],
        began_ns: int,
    ) -> None:
        """Read what lies below `project`; nothing that changed after `began_ns` is known then."""
        self._project = project
        self._guard = guard
        self._known = known
        self._began_ns = began_ns
        self.known: dict[FileState, KnownFile] = {}
        self.left_out: list[LeftOut] = []

    def read_all(self, files: Mapping[str, SeenFile]) -> Iterator[Entry]:
        """The files that travel, in order of their paths.

        Raises:
            RequestError: one changes whenever it is read.
        """
        for path, seen in sorted(files.items()):
            state, known = seen.state, self._known.get(seen.state)
            if known is None:
                if (found := self._read(path)) is None:
                    continue
                state, known = found
            if self._began_ns - state.ctime_ns > SETTLED_NS:
                self.known[state] = known
            if known.token:
                self.left_out.append(LeftOut(path, Reason.TOKEN, known.token))
            else:
                yield Entry(path, Digest(known.hash, state.size), seen.is_executable)

    def _read(self, path: str) -> tuple[FileState, KnownFile] | None:
        """What a file holds, and its state all the while; None where there is none any more.

        Raises:
            RequestError: it changes whenever it is read.
        """
        for _ in range(READS_MAX):
            try:
                descriptor = self._project.open(path)
            except PermissionError:
                self.left_out.append(LeftOut(path, Reason.CLOSED))
                return None
            except OSError as error:
                if error.errno not in _GONE:
                    raise
                return None
            with open(descriptor, "rb", buffering=0):
                info = os.fstat(descriptor)
                if self._guard.keeps(path, info) or not stat.S_ISREG(info.st_mode):
                    self.left_out.append(LeftOut(path, Reason.SECRET))
                    return None
                before = state_of(info)
                known, size = _examine(descriptor, before.size)
                if size == before.size and state_of(os.fstat(descriptor)) == before:
                    return before, known
        raise RequestError(
            f"{path} changed each of the {READS_MAX} times that it was read",
            "wait until nothing writes to it, or name its folder in cluster.leave_out",
        )


def _examine(descriptor: int, expected: int) -> tuple[KnownFile, int]:
    """What an open file holds, and how many bytes were read: at most one more than expected."""
    if expected <= SEARCHED_BYTES_MAX:
        data = read_up_to(descriptor, expected + 1)
        return KnownFile(hashlib.sha256(data).hexdigest(), _token_in(data)), len(data)
    seen, size = hashlib.sha256(), 0
    while size <= expected and (piece := os.read(descriptor, MIB)):
        seen.update(piece)
        size += len(piece)
    return KnownFile(seen.hexdigest()), size


def read_up_to(descriptor: int, count: int) -> bytes:
    """Read an open file from where it stands: `count` bytes, or fewer at its end.

    Raises:
        OSError: as the kernel reports it.
    """
    pieces, size = [], 0
    while size < count and (piece := os.read(descriptor, count - size)):
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)


def _token_in(data: bytes) -> str:
    """The kind of the first token or private key, or nothing."""
    if b"-----BEGIN " in data:
        for kind, _, _ in find_private_keys(data):
            return kind
    return next((kind for kind, _, _ in find_tokens(data)), "")
