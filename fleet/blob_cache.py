"""Blobs by digest in a folder that only the worker uses, and trees laid out from them."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import BinaryIO

from executor import GIB, MIB
from executor.project.view import DEPTH_MAX, NEW_FILE, Tree, in_tree_order, open_tree, split
from fleet.tree import BlobError, Digest, Entry, TreeError, prove, read_tree

BYTES_MAX = 10 * GIB
_UNFINISHED = ".new"


def make_own(folder: Path, mode: int) -> None:
    """Make a folder with these permissions, or set them on an existing one.

    Raises:
        OSError: the folder cannot be made, or belongs to another user.
    """
    folder.mkdir(mode=mode, parents=True, exist_ok=True)
    if os.stat(folder).st_uid != os.geteuid():
        raise PermissionError(f"{folder} belongs to another user")
    os.chmod(folder, mode)


class BlobCache:
    """Blobs as files named by digest. Several processes may use one folder at once.

    A blob is checked against its digest once, when it is added, and trusted afterwards.
    """

    def __init__(self, folder: Path) -> None:
        """Use a folder that nobody else can enter; make it if it is missing.

        Raises:
            OSError: it can't be made, or belongs to somebody else.
        """
        make_own(folder, 0o700)
        self._folder = folder

    def has(self, digest: Digest) -> bool:
        """Return whether a blob is stored, and mark it as used."""
        try:
            os.utime(self._place(digest))
        except FileNotFoundError:
            return False
        return True

    def open(self, digest: Digest) -> BinaryIO:
        """Open a blob for reading.

        Raises:
            BlobError: the blob is missing, for example because its room was needed for others.
        """
        try:
            return open(self._place(digest), "rb", buffering=0)
        except FileNotFoundError:
            raise BlobError(f"{digest} is not in the worker's cache") from None

    def add(self, digest: Digest, pieces: Iterable[bytes]) -> None:
        """Store a blob if its content matches the digest; otherwise store nothing.

        Raises:
            BlobError: the content does not match.
            OSError: the disk is full.
        """
        place = self._place(digest)
        beside = place.with_name(f"{place.name}.{os.urandom(8).hex()}{_UNFINISHED}")
        place.parent.mkdir(mode=0o700, exist_ok=True)
        try:
            with open(beside, "xb") as out:
                out.writelines(prove(digest, pieces))
            os.rename(beside, place)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(beside)
            raise

    def trim(self, bytes_max: int = BYTES_MAX) -> int:
        """Remove the least recently used blobs until the rest fits; return the bytes removed."""
        found = []
        for path in self._folder.glob("??/*"):
            with contextlib.suppress(FileNotFoundError):
                info = os.stat(path)
                found.append((info.st_mtime_ns, info.st_size, path))
        excess, removed = sum(size for _, size, _ in found) - bytes_max, 0
        for _, size, path in sorted(found):
            if removed >= excess:
                break
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            removed += size
        return removed

    def _place(self, digest: Digest) -> Path:
        return self._folder / digest.hash[:2] / f"{digest.hash}-{digest.size_bytes}"


# Files are copied and never hard-linked: a run, or its commit, may write to the copies.

TREE_LIST_BYTES_MAX = 64 * MIB
"""Limit of a tree's list: 200,000 entries with paths of 250 bytes take as much."""
TREE_BYTES_MAX = 4 * GIB
"""Limit of all files of a tree."""
LAID_OUT_NS = 1_000_000_000_000_000_000
"""The time of every entry, 2001-09-09: none seems newer than what was made from it."""
_LAID_OUT = (LAID_OUT_NS, LAID_OUT_NS)

Entries = Mapping[str, Entry]


def find_missing(root: Digest, cache: BlobCache) -> frozenset[Digest]:
    """Find the blobs of a tree to fetch: its list, or the files that the cached list names.

    Raises:
        TreeError: the blob is not a list of entries, or the tree is too large.
    """
    _check_list_size(root)
    if not cache.has(root):
        return frozenset([root])
    files = {one.digest for one in _read(root, cache).values() if one.digest is not None}
    return frozenset(one for one in files if not cache.has(one))


def renew(folder: Path, old: Digest, new: Digest, cache: BlobCache) -> None:
    """Turn the laid-out folder of one tree into that of another, writing only the differences.

    Nothing may have written to it since it was laid out. At an error nothing is left of it. Files
    have mode 0644, or 0755 if they are executable, and all the same time.

    Raises:
        BlobError: a blob is not in the cache.
        TreeError: it can't be laid out.
        OSError: the folder can't be written.
    """
    try:
        before, after = _read(old, cache), _read(new, cache)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    _write(folder, before, after, cache)


def laid_out_mode(mode: int) -> int:
    """Return the permissions that a worker gives an entry of this `st_mode` at the front."""
    return 0o755 if stat.S_ISDIR(mode) or mode & 0o100 else 0o644


def _check_list_size(root: Digest) -> None:
    if root.size_bytes > TREE_LIST_BYTES_MAX:
        raise TreeError(f"the list {root} is too large")


def _read(root: Digest, cache: BlobCache) -> Entries:
    """Read a tree's list from the cache, and check that it can be laid out.

    Raises:
        BlobError, TreeError: it can't be laid out.
    """
    _check_list_size(root)
    with cache.open(root) as blob:
        entries = read_tree(blob.read())
    if sum(one.digest.size_bytes for one in entries.values() if one.digest) > TREE_BYTES_MAX:
        raise TreeError(f"the tree has over {TREE_BYTES_MAX:,} bytes")
    if any(path.count("/") >= DEPTH_MAX for path, one in entries.items() if one.is_folder):
        raise TreeError(f"the tree is deeper than {DEPTH_MAX} folders")
    return entries


def _write(folder: Path, old: Entries, new: Entries, cache: BlobCache) -> None:
    """Change a folder from one tree to another, or remove it."""
    try:
        with open_tree(folder) as tree:
            os.fchmod(tree.top, 0o755)
            changed = _take_out(old, new, tree) | _put_in(old, new, cache, tree)
            for path in sorted(changed, key=in_tree_order):
                os.utime(tree.folder(path), ns=_LAID_OUT)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _take_out(old: Entries, new: Entries, tree: Tree) -> set[str]:
    """Remove entries that are gone or replaced; return the folders that held them."""
    changed: set[str] = {""}
    gone = "\0"  # the last folder that was removed with its content
    for path in sorted(old, key=in_tree_order):
        if old[path] == new.get(path) or path.startswith(f"{gone}/"):
            continue
        folder, name = split(path)
        at = tree.folder(folder)
        if old[path].is_folder:
            gone = path
            shutil.rmtree(name, dir_fd=at)
        else:
            os.unlink(name, dir_fd=at)
        changed.add(folder)
    return changed


def _put_in(old: Entries, new: Entries, cache: BlobCache, tree: Tree) -> set[str]:
    """Write entries that are new or replaced; return new folders and those that hold them."""
    changed: set[str] = set()
    for path in sorted(new, key=in_tree_order):
        entry = new[path]
        if entry == old.get(path):
            continue
        folder, name = split(path)
        at = tree.folder(folder)
        if entry.digest is not None:
            _copy(entry.digest, name, cache, at, laid_out_mode(0o100 * entry.is_executable))
        elif entry.target is not None:
            os.symlink(entry.target, name, dir_fd=at)
            os.utime(name, ns=_LAID_OUT, dir_fd=at, follow_symlinks=False)
        else:
            os.mkdir(name, dir_fd=at)
            os.fchmod(tree.folder(path), 0o755)
            changed.add(path)
        changed.add(folder)
    return changed


def _copy(digest: Digest, name: str, cache: BlobCache, into: int, mode: int) -> None:
    """Copy a blob into a new file, by the kernel; never as a link."""
    with cache.open(digest) as source:
        target = os.open(name, NEW_FILE, mode, dir_fd=into)
        try:
            at = 0
            while sent := os.sendfile(target, source.fileno(), at, MIB):
                at += sent
            os.fchmod(target, mode)
            os.utime(target, ns=_LAID_OUT)
        finally:
            os.close(target)
