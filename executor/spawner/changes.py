"""Changes that a run made to the project's files."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field

from . import tree
from .messages import BoxDescription
from .view import FOLDER, is_opaque

REPORTED_MAX = 500
REPORTED_BYTES_MAX = 60_000  # well below the size limit of one message
DEPTH_MAX = 128
SNAPSHOT_ENTRIES_MAX = 200_000

Change = tuple[str, str, int | None]  # path, what happened, size
# path -> inode, mode, size, and time of its last change (ctime, which no program can set back)
Snapshot = dict[str, tuple[int, int, int, int]]


@dataclass(slots=True)
class ReportedChanges:
    """A bounded list of changes: those that do not fit are counted."""

    listed: list[Change] = field(default_factory=list)
    omitted: int = 0
    _size: int = 0

    def add(self, path: str, change: str, size: int | None) -> None:
        self._size += 6 * len(path) + 40  # a byte of a name takes up to six in JSON
        if len(self.listed) < REPORTED_MAX and self._size < REPORTED_BYTES_MAX:
            self.listed.append((path, change, size))
        else:
            self.omitted += 1


def of_overlay(upper: int, lower: int, before: Snapshot) -> ReportedChanges:
    """Return a copy-on-write run's changes since `before`, read from the overlay's upper folder."""
    changes = ReportedChanges()
    for path, info in _walk(upper, changes):
        if before.get(path) == _state(info):
            continue
        existed = _exists(lower, path)
        if stat.S_ISDIR(info.st_mode):
            if not existed:
                changes.add(f"{path}/", "created", None)
            elif path not in before:
                _add_hidden(changes, upper, lower, path)
        elif stat.S_ISCHR(info.st_mode) and info.st_rdev == 0:  # the overlay's mark
            if existed:
                changes.add(path, "deleted", None)
        else:
            changes.add(path, "modified" if existed else "created", info.st_size)
    changes.listed.sort()
    return changes


def _add_hidden(changes: ReportedChanges, upper: int, lower: int, path: str) -> None:
    """Add the entries that a folder lost when it was removed and created again."""
    fd = os.open(path, FOLDER | os.O_NOFOLLOW, dir_fd=upper)
    try:
        if is_opaque(fd):
            kept = {f"{path}/{name}" for name in os.listdir(fd)}
            gone = {name for name, _ in _entries(lower, path)} - kept
            for name in sorted(gone):
                changes.add(name, "deleted", None)
    except OSError:  # it was not a folder before
        return
    finally:
        os.close(fd)


def look(folder: int) -> Snapshot | None:
    """Return the state of everything below a folder; None if there are too many entries."""
    files: Snapshot = {}
    for path, info in _walk(folder, ReportedChanges()):
        files[path] = _state(info)
        if len(files) > SNAPSHOT_ENTRIES_MAX:
            return None
    return files


def _state(info: os.stat_result) -> tuple[int, int, int, int]:
    return info.st_ino, info.st_mode, info.st_size, info.st_ctime_ns


def between(before: Snapshot | None, after: Snapshot | None) -> ReportedChanges:
    """Return the changes between two snapshots. A missing snapshot counts as one omitted change."""
    changes = ReportedChanges()
    if before is None or after is None:
        return ReportedChanges(omitted=1)
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


def _walk(top: int, changes: ReportedChanges) -> Iterator[tuple[str, os.stat_result]]:
    """Yield every entry below a folder, following no link; count folders that are too deep."""
    pending = [""]
    while pending:
        folder = pending.pop()
        try:
            entries = _entries(top, folder)
        except OSError:  # unreadable, or a path longer than the kernel accepts
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


def look_at_project(cell: BoxDescription, handles: tree.Handles) -> Snapshot | None:
    """Return the state to compare with: of a view's upper layer, or of a live project."""
    if handles.view is not None:
        return look(handles.view.upper)
    if not cell.get("project") or cell["project"]["mode"] != "live":
        return {}
    return _look_at(cell["project"]["target"])


def list_changes(
    cell: BoxDescription, handles: tree.Handles, before: Snapshot | None
) -> ReportedChanges:
    """Return the changes that the run made to the project since `before`.

    Empty if the run is committed: the commit lists its changes.
    """
    project = cell.get("project")
    changed = ReportedChanges()
    if project and project["mode"] == "live":
        changed = between(before, _look_at(project["target"]))
    elif handles.view is not None and project and not project["commit"]:
        changed = of_overlay(handles.view.upper, handles.view.lower, before or {})
    return changed


def hand_over_upper(cell: BoxDescription, handles: tree.Handles) -> list[int]:
    """Return the upper layer, if the server commits its contents."""
    project = cell.get("project")
    if handles.view is None or not project or not project["commit"]:
        return []
    return [handles.view.upper]


def _look_at(folder: str) -> Snapshot | None:
    fd = os.open(folder, FOLDER)
    try:
        return look(fd)
    finally:
        os.close(fd)
