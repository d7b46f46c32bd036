"""A tree of digests as a folder, at a worker, from its cache.

Files are copied and never hard-linked: a run, or the commit of one, may write where they lie.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from executor.model import GIB, MIB
from executor.project.view.walking import DEPTH_MAX, FOLDER_FLAGS
from fleet.blob_cache import BlobCache, copy_file
from fleet.tree import Digest, Folder

FOLDER_BYTES_MAX = 64 * MIB
"""Of one folder's message: 200,000 entries with names of 255 bytes take as much."""
LAID_OUT_NS = 1_000_000_000_000_000_000
"""The time of every file, of 2001-09-09: none seems newer than what it was made from."""
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class TooLargeError(Exception):
    """A tree that is larger, or deeper, than a worker lays out."""


@dataclass(frozen=True, slots=True)
class Caps:
    """The most that a worker lays out of one tree. A small tree can name one folder very often."""

    bytes_max: int = 4 * GIB
    entries_max: int = 200_000


@dataclass(slots=True)
class _Count:
    caps: Caps
    entries: int = 0
    size_bytes: int = 0

    def add(self, entries: int, size_bytes: int) -> None:
        """Count some more.

        Raises:
            TooLargeError: that is too much.
        """
        self.entries += entries
        self.size_bytes += size_bytes
        if self.entries > self.caps.entries_max or self.size_bytes > self.caps.bytes_max:
            raise TooLargeError(
                f"the tree has over {self.caps.entries_max:,} entries, or {self.caps.bytes_max:,}"
                " bytes"
            )


def find_missing(root: Digest, cache: BlobCache, caps: Caps | None = None) -> frozenset[Digest]:
    """What has to be fetched of a tree. Folders that are missing hide what is in them: ask again.

    Raises:
        TreeError: a folder's blob is none.
        TooLargeError: there is too much.
    """
    count = _Count(caps or Caps())
    count.add(1, root.size_bytes)
    met, missing, ahead = {root}, set(), [root]
    while ahead:
        digest = ahead.pop()
        if not cache.has(digest):
            missing.add(digest)
            continue
        folder = _folder(digest, cache)
        files = {node.digest for node in folder.files} - met
        below = {node.digest for node in folder.folders} - met
        count.add(len(files) + len(below), sum(one.size_bytes for one in files | below))
        missing.update(one for one in files if not cache.has(one))
        met |= files | below
        ahead += below
    return frozenset(missing)


def lay_out(root: Digest, cache: BlobCache, folder: Path, caps: Caps | None = None) -> None:
    """Make `folder`, which must not be there, the folder of a tree. At an error nothing is left.

    Files have mode 0644, or 0755 where they are executable, and all the same time.

    Raises:
        MissingError: a blob is not in the cache.
        TreeError, TooLargeError: it is no tree that can be laid out.
        FileExistsError, OSError: the folder is there, or can't be written.
    """
    folder.mkdir()
    try:
        top = os.open(folder, FOLDER_FLAGS)
        try:
            _fill(root, cache, top, _Count(caps or Caps()), 0)
        finally:
            os.close(top)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _fill(digest: Digest, cache: BlobCache, into: int, count: _Count, depth: int) -> None:
    """Lay out one folder into an open one, and those below it."""
    if depth > DEPTH_MAX:
        raise TooLargeError(f"the tree is deeper than {DEPTH_MAX} folders")
    os.fchmod(into, 0o755)
    folder = _folder(digest, cache)
    entries = len(folder.files) + len(folder.folders) + len(folder.links)
    count.add(entries, sum(node.digest.size_bytes for node in folder.files))
    for file in folder.files:
        with cache.open(file.digest) as source:
            mode = 0o755 if file.is_executable else 0o644
            target = os.open(file.name, _NEW_FILE, mode, dir_fd=into)
            try:
                copy_file(source, target)
                os.fchmod(target, mode)
                os.utime(target, ns=(LAID_OUT_NS, LAID_OUT_NS))
            finally:
                os.close(target)
    for link in folder.links:
        os.symlink(link.target, link.name, dir_fd=into)
    for below in folder.folders:
        os.mkdir(below.name, dir_fd=into)
        opened = os.open(below.name, FOLDER_FLAGS, dir_fd=into)
        try:
            _fill(below.digest, cache, opened, count, depth + 1)
        finally:
            os.close(opened)
    os.utime(into, ns=(LAID_OUT_NS, LAID_OUT_NS))


def _folder(digest: Digest, cache: BlobCache) -> Folder:
    """A folder by its blob.

    Raises:
        MissingError, TreeError, TooLargeError: there is none.
    """
    if digest.size_bytes > FOLDER_BYTES_MAX:
        raise TooLargeError(f"the folder {digest} is too large")
    with cache.open(digest) as blob:
        return Folder.decode(blob.read())
