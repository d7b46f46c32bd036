"""What a run did to the project's files."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field

from .tree import FOLDER, Handles

REPORTED_MAX = 500
REPORTED_BYTES_MAX = 60_000  # well below what one message carries
DEPTH_MAX = 128
# See gitrepository-layout(5). `commondir` stands for `objects` where that lies elsewhere.
REPOSITORY_PARTS = frozenset({".git", "HEAD", "objects", "commondir"})
SNAPSHOT_ENTRIES_MAX = 200_000

Change = tuple[str, str, int | None]  # path, what happened, size
# path -> inode, mode, size, and when it was changed last (ctime, which no program can set back)
Snapshot = dict[str, tuple[int, int, int, int]]


@dataclass(slots=True)
class Changes:
    """A bounded list: what does not fit is counted."""

    listed: list[Change] = field(default_factory=list)
    omitted: int = 0
    _size: int = 0

    def add(self, path: str, change: str, size: int | None) -> None:
        self._size += 6 * len(path) + 40  # a byte of a name is at most six in JSON
        if len(self.listed) < REPORTED_MAX and self._size < REPORTED_BYTES_MAX:
            self.listed.append((path, change, size))
        else:
            self.omitted += 1


def of_overlay(handles: Handles) -> Changes:
    """What a copy-on-write run did, read off the overlay's upper folder."""
    changes = Changes()
    if handles.upper is None or handles.lower is None:
        return changes
    for path, info in _walk(handles.upper, changes):
        existed = _exists(handles.lower, path)
        if stat.S_ISDIR(info.st_mode):
            if not existed:
                changes.add(f"{path}/", "created", None)
        elif stat.S_ISCHR(info.st_mode) and info.st_rdev == 0:  # the overlay's mark
            changes.add(path, "deleted", None)
        else:
            changes.add(path, "modified" if existed else "created", info.st_size)
    changes.listed.sort()
    return changes


@dataclass(frozen=True, slots=True)
class State:
    """A live project: its files, None if they are too many to remember, and its repositories."""

    files: Snapshot | None
    repositories: frozenset[str]


def look(folder: str) -> State:
    """The state of a live project."""
    files: Snapshot | None = {}
    met: dict[str, set[str]] = {}  # by folder, what of a repository is in it
    fd = os.open(folder, FOLDER)
    try:
        for path, info in _walk(fd, Changes()):
            above, _, name = path.rpartition("/")
            if name in REPOSITORY_PARTS and ".git" not in above.split("/"):
                met.setdefault(above, set()).add(name)
            if files is not None:
                files[path] = (info.st_ino, info.st_mode, info.st_size, info.st_ctime_ns)
                if len(files) > SNAPSHOT_ENTRIES_MAX:
                    files = None
    finally:
        os.close(fd)
    return State(files, frozenset(_repositories(met)))


def _repositories(met: dict[str, set[str]]) -> Iterator[str]:
    """What would make git see a repository, at any depth.

    A `.git`, folder or file, or the HEAD of a bare repository, whose configuration may come later:
    git reads it, and runs what that says, for whoever enters the folder.
    """
    for above, names in met.items():
        beside = f"{above}/" if above else ""
        if ".git" in names:
            yield f"{beside}.git"
        if "HEAD" in names and names & {"objects", "commondir"}:
            yield f"{beside}HEAD"


def between(before: Snapshot | None, after: Snapshot | None) -> Changes:
    """What happened from one snapshot to the next. Unknown counts as one change left out."""
    changes = Changes()
    if before is None or after is None:
        changes.omitted = 1
        return changes
    for path in sorted(before.keys() | after.keys()):
        old, new = before.get(path), after.get(path)
        if new is None:
            changes.add(path, "deleted", None)
        elif stat.S_ISDIR(new[1]):
            if old is None:
                changes.add(f"{path}/", "created", None)
        elif old != new:
            changes.add(path, "modified" if old else "created", new[2])
    return changes


def _walk(top: int, changes: Changes) -> Iterator[tuple[str, os.stat_result]]:
    """Every entry below a folder, following no link; what is too deep to name is counted."""
    pending = [""]
    while pending:
        folder = pending.pop()
        try:
            entries = _entries(top, folder)
        except OSError:  # unreadable, or a path longer than the kernel takes
            changes.omitted += 1
            continue
        for path, info in entries:
            yield path, info
            if stat.S_ISDIR(info.st_mode):
                if path.count("/") < DEPTH_MAX:
                    pending.append(path)
                else:
                    changes.omitted += 1


def _entries(top: int, folder: str) -> list[tuple[str, os.stat_result]]:
    fd = os.open(folder or ".", FOLDER | os.O_NOFOLLOW, dir_fd=top)
    try:
        with os.scandir(fd) as found:
            prefix = f"{folder}/" if folder else ""
            return [(prefix + e.name, e.stat(follow_symlinks=False)) for e in found]
    finally:
        os.close(fd)


def _exists(folder: int, path: str) -> bool:
    try:
        os.stat(path, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    return True
