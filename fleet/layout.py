"""A tree of digests as a folder, at a worker, from its cache.

Files are copied and never hard-linked: a run, or the commit of one, may write where they lie.
"""

from __future__ import annotations

import os
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from executor.model import GIB, MIB
from executor.project.view.walking import DEPTH_MAX, FOLDER_FLAGS
from fleet.blob_cache import BlobCache, copy_file
from fleet.tree import Digest, FileNode, Folder

FOLDER_BYTES_MAX = 64 * MIB
"""Of one folder's message: 200,000 entries with names of 255 bytes take as much."""
LAID_OUT_NS = 1_000_000_000_000_000_000
"""The time of every entry, of 2001-09-09: none seems newer than what it was made from."""
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class TooLargeError(Exception):
    """A tree that is larger, or deeper, than a worker lays out."""


@dataclass(frozen=True, slots=True)
class Caps:
    """The most that a worker lays out of one tree. A small tree can name one folder very often."""

    bytes_max: int = 4 * GIB
    entries_max: int = 200_000


class _Weight(NamedTuple):
    """What a tree would be once it is laid out."""

    entries: int
    size_bytes: int
    depth: int


def find_missing(root: Digest, cache: BlobCache, caps: Caps | None = None) -> frozenset[Digest]:
    """What has to be fetched of a tree. Folders that are missing hide what is in them: ask again.

    Raises:
        TreeError: a folder's blob is none.
        TooLargeError: there is too much.
    """
    caps = caps or Caps()
    _check(_Weight(1, root.size_bytes, 0), caps)
    met, missing, ahead = {root}, set(), [root]
    while ahead:
        digest = ahead.pop()
        if not cache.has(digest):
            missing.add(digest)
            continue
        folder = _folder(digest, cache)
        files = {node.digest for node in folder.files} - met
        below = {node.digest for node in folder.folders} - met
        missing.update(one for one in files if not cache.has(one))
        met |= files | below
        _check(_Weight(len(met), sum(one.size_bytes for one in files | below), 0), caps)
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
    _check(_weigh(root, cache, {}, 0), caps or Caps())
    folder.mkdir()
    _write(folder, Folder(), root, cache)


def renew(
    folder: Path, old: Digest, new: Digest, cache: BlobCache, caps: Caps | None = None
) -> None:
    """Make the laid-out folder of one tree that of another, writing only what differs.

    Nothing may have written to it since it was laid out. At an error nothing is left of it.

    Raises:
        MissingError, TreeError, TooLargeError, OSError: see `lay_out`.
    """
    try:
        _check(_weigh(new, cache, {}, 0), caps or Caps())
        before = _folder(old, cache)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    _write(folder, before, new, cache)


def _write(folder: Path, old: Folder, new: Digest, cache: BlobCache) -> None:
    """Bring a folder from one state to another, or remove it."""
    try:
        top = os.open(folder, FOLDER_FLAGS)
        try:
            _bring(old, _folder(new, cache), cache, top)
        finally:
            os.close(top)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _weigh(digest: Digest, cache: BlobCache, known: dict[Digest, _Weight], depth: int) -> _Weight:
    """What a tree would be, each of its folders read once, however often it is named.

    Raises:
        MissingError, TreeError, TooLargeError: it can't be laid out.
    """
    if depth > DEPTH_MAX:
        raise TooLargeError(f"the tree is deeper than {DEPTH_MAX} folders")
    if digest not in known:
        folder = _folder(digest, cache)
        below = [_weigh(node.digest, cache, known, depth + 1) for node in folder.folders]
        known[digest] = _Weight(
            len(folder.files) + len(folder.links) + sum(1 + one.entries for one in below),
            sum(n.digest.size_bytes for n in folder.files) + sum(one.size_bytes for one in below),
            max((1 + one.depth for one in below), default=0),
        )
    return known[digest]


def _check(weight: _Weight, caps: Caps) -> None:
    if weight.entries > caps.entries_max or weight.size_bytes > caps.bytes_max:
        raise TooLargeError(
            f"the tree has over {caps.entries_max:,} entries, or {caps.bytes_max:,} bytes"
        )
    if weight.depth > DEPTH_MAX:
        raise TooLargeError(f"the tree is deeper than {DEPTH_MAX} folders")


def _bring(old: Folder, new: Folder, cache: BlobCache, into: int) -> None:
    """Bring an open folder from one state to another, and those below it."""
    os.fchmod(into, 0o755)
    _take_out(old, new, into)
    for file in set(new.files).difference(old.files):
        _copy(file, cache, into)
    for link in set(new.links).difference(old.links):
        os.symlink(link.target, link.name, dir_fd=into)
        laid_out = (LAID_OUT_NS, LAID_OUT_NS)
        os.utime(link.name, ns=laid_out, dir_fd=into, follow_symlinks=False)
    before = {node.name: node.digest for node in old.folders}
    for folder in set(new.folders).difference(old.folders):
        known = before.get(folder.name)
        if known is None:
            os.mkdir(folder.name, dir_fd=into)
        was = Folder() if known is None else _folder(known, cache)
        opened = os.open(folder.name, FOLDER_FLAGS, dir_fd=into)
        try:
            _bring(was, _folder(folder.digest, cache), cache, opened)
        finally:
            os.close(opened)
    os.utime(into, ns=(LAID_OUT_NS, LAID_OUT_NS))


def _take_out(old: Folder, new: Folder, into: int) -> None:
    """Remove from an open folder what is not there any more, or something else now."""
    for file in set(old.files).difference(new.files):
        os.unlink(file.name, dir_fd=into)
    for link in set(old.links).difference(new.links):
        os.unlink(link.name, dir_fd=into)
    wanted = {node.name for node in new.folders}
    for folder in old.folders:
        if folder.name not in wanted:
            shutil.rmtree(folder.name, dir_fd=into)


def _copy(file: FileNode, cache: BlobCache, into: int) -> None:
    mode = laid_out_mode(0o100 if file.is_executable else 0)
    with cache.open(file.digest) as source:
        target = os.open(file.name, _NEW_FILE, mode, dir_fd=into)
        try:
            copy_file(source, target)
            os.fchmod(target, mode)
            os.utime(target, ns=(LAID_OUT_NS, LAID_OUT_NS))
        finally:
            os.close(target)


def laid_out_mode(mode: int) -> int:
    """The permissions that a worker gives an entry that has these, of `st_mode`, at the front."""
    return 0o755 if stat.S_ISDIR(mode) or mode & 0o100 else 0o644


def _folder(digest: Digest, cache: BlobCache) -> Folder:
    """A folder by its blob.

    Raises:
        MissingError, TreeError, TooLargeError: there is none.
    """
    if digest.size_bytes > FOLDER_BYTES_MAX:
        raise TooLargeError(f"the folder {digest} is too large")
    with cache.open(digest) as blob:
        return Folder.decode(blob.read())
