"""Whether the host has changed a project: what a session's view does not show by itself.

A mounted overlay keeps what it has looked up: a file that was replaced by renaming stays the old
one. One that was looked up before it was made stays absent. Both change the time of a folder. What
is edited in place is seen anyway.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from executor.project.store.manifest import Change
from executor.project.view.record import Record


class Freshness:
    """Remembers the times of a project's folders from one look to the next."""

    def __init__(self, project: Path) -> None:
        self._project = str(project)
        self._folders: dict[str, tuple[int, int]] = {}

    def look(self) -> bool:
        """Whether any folder has changed since the last look, which the first one never says."""
        is_first = not self._folders
        changed = False
        pending = [self._project] if is_first else []
        for path, known in list(self._folders.items()):
            if (state := _state(path)) != known:
                changed = True
                del self._folders[path]
                if state is not None:
                    pending.append(path)
        while pending:
            path = pending.pop()
            state = _state(path)
            if state is None:
                continue
            self._folders[path] = state
            pending += [inner for inner in _folders_in(path) if inner not in self._folders]
        return changed and not is_first


def _state(path: str) -> tuple[int, int] | None:
    """Which folder it is, and when it changed last, a time that no program can set back."""
    try:
        info = os.lstat(path)
    except OSError:
        return None
    return info.st_ino, info.st_ctime_ns


def _folders_in(path: str) -> list[str]:
    try:
        with os.scandir(path) as found:
            return [entry.path for entry in found if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def differs_only_by(before: Record, after: Record, changed: Iterable[Change]) -> bool:
    """Whether between two records of a project nothing changed but what a commit did."""
    changed = tuple(changed)
    if before.hidden != after.hidden or not all(_is_as_committed(each, after) for each in changed):
        return False
    own: set[str] = set()
    for change in changed:
        for path in filter(None, (change.path, change.source)):
            own |= {path, path.rpartition("/")[0]}
    different = {path for path, state in after.states.items() if before.states.get(path) != state}
    different |= before.states.keys() - after.states.keys()
    return different <= own


def _is_as_committed(change: Change, after: Record) -> bool:
    """Whether a file that was written is still as it was: the host may have been at it already."""
    if change.kind != "file" or change.change not in ("created", "modified", "renamed"):
        return True
    state = after.states.get(change.path)
    return state is not None and (state.size, state.mtime_ns) == (change.size, change.mtime_ns)
