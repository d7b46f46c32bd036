"""Blobs by digest in a folder of the worker alone, and trees laid out from them."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import BinaryIO

from executor import GIB, MIB
from executor.project.view import DEPTH_MAX, FOLDER_FLAGS, Tree, in_tree_order, split
from fleet.errors import BlobError
from fleet.tree import Digest, Entry, TreeError, prove, read_tree

BYTES_MAX = 10 * GIB
_UNFINISHED = ".new"


def make_own(folder: Path, mode: int) -> None:
    """Make a folder with these permissions, or give them to it.

    Raises:
        OSError: it can't be made, or belongs to somebody else.
    """
    folder.mkdir(mode=mode, parents=True, exist_ok=True)
    if os.stat(folder).st_uid != os.geteuid():
        raise PermissionError(f"{folder} belongs to somebody else")
    os.chmod(folder, mode)


class BlobCache:
    """Keeps blobs as files named by digest; several processes may use one folder at once.

    What was added is proven by its digest once, and trusted from then on.
    """

    def __init__(self, folder: Path) -> None:
        """Use a folder, made where it is missing, that nobody else can enter.

        Raises:
            OSError: it can't be made, or belongs to somebody else.
        """
        make_own(folder, 0o700)
        self._folder = folder

    def has(self, digest: Digest) -> bool:
        """Whether a blob is there; it counts as used."""
        try:
            os.utime(self._place(digest))
        except FileNotFoundError:
            return False
        return True

    def open(self, digest: Digest) -> BinaryIO:
        """A blob, for reading.

        Raises:
            BlobError: it is not there, as where others had to have its room.
        """
        try:
            return open(self._place(digest), "rb", buffering=0)
        except FileNotFoundError:
            raise BlobError(f"{digest} is not in the worker's cache") from None

    def add(self, digest: Digest, pieces: Iterable[bytes]) -> None:
        """Keep a blob, if its content is what the digest says; else nothing is left of it.

        Raises:
            BlobError: it is not.
            OSError: there is no room.
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
        """Remove what was used longest ago until the rest fits; how many bytes were removed."""
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


# Files are copied and never hard-linked: a run, or the commit of one, may write where they lie.

TREE_LIST_BYTES_MAX = 64 * MIB
"""Of a tree's list: 200,000 entries with paths of 250 bytes take as much."""
TREE_BYTES_MAX = 4 * GIB
"""Of a tree's files."""
LAID_OUT_NS = 1_000_000_000_000_000_000
"""The time of every entry, of 2001-09-09: none seems newer than what it was made from."""
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_LAID_OUT = (LAID_OUT_NS, LAID_OUT_NS)

Entries = Mapping[str, Entry]


def find_missing(root: Digest, cache: BlobCache) -> frozenset[Digest]:
    """Find what has to be fetched of a tree: its list, or what that names if it is here.

    Raises:
        TreeError: the blob is not a list of entries, or there is too much.
    """
    _check_list_size(root)
    if not cache.has(root):
        return frozenset([root])
    files = {one.digest for one in _read(root, cache).values() if one.digest is not None}
    return frozenset(one for one in files if not cache.has(one))


def renew(folder: Path, old: Digest, new: Digest, cache: BlobCache) -> None:
    """Make the laid-out folder of one tree that of another, writing only what differs.

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
    """Read a tree's list from the cache, and hold it to what is laid out.

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
    """Bring a folder from one state to another, or remove it."""
    try:
        top = os.open(folder, FOLDER_FLAGS)
        try:
            os.fchmod(top, 0o755)
            with Tree(top) as tree:
                changed = _take_out(old, new, tree) | _put_in(old, new, cache, tree)
                for path in sorted(changed, key=in_tree_order):
                    os.utime(tree.folder(path), ns=_LAID_OUT)
        finally:
            os.close(top)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _take_out(old: Entries, new: Entries, tree: Tree) -> set[str]:
    """Remove what is not there any more, or something else now; the folders that it was in."""
    changed: set[str] = {""}
    gone = "\0"  # the last folder that went, with all in it
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
    """Write what was not there, or something else; the folders that are new, or that it is in."""
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
        target = os.open(name, _NEW_FILE, mode, dir_fd=into)
        try:
            at = 0
            while sent := os.sendfile(target, source.fileno(), at, MIB):
                at += sent
            os.fchmod(target, mode)
            os.utime(target, ns=_LAID_OUT)
        finally:
            os.close(target)
