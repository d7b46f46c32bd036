"""Whether what the project has now is what a change began with, or what it left."""

from __future__ import annotations

import os
import stat

from executor.project.store.manifest import Change
from executor.project.view.contents import digest, same_content
from executor.project.view.record import EntryState, state_of
from executor.project.view.tree import Tree

SPECIAL_BITS = 0o7000


def is_as_before(change: Change, info: os.stat_result, project: Tree) -> bool:
    """Whether an entry is what the run found; of a folder its mode counts if the run set that."""
    before = change.before
    if before is None:
        return False
    if stat.S_ISDIR(before.mode):
        is_mode_changed = change.change == "mode" and info.st_mode != before.mode
        return stat.S_ISDIR(info.st_mode) and not is_mode_changed
    if state_of(info) == before:
        return True
    return bool(change.before_sha256) and _has_content_before(change, info, before, project)


def is_as_left(change: Change, info: os.stat_result, contents: Tree, project: Tree) -> bool:
    """Whether someone else brought about what the run did."""
    if change.kind == "file":
        seen = (stat.S_IFREG | change.mode, change.size)
        is_alike = (info.st_mode & ~SPECIAL_BITS, info.st_size) == seen
        return is_alike and same_content(contents, project, change.path, state_of(info))
    if change.kind == "link" and stat.S_ISLNK(info.st_mode):
        return project.target(change.path) == change.target
    return False


def _has_content_before(
    change: Change, info: os.stat_result, before: EntryState, project: Tree
) -> bool:
    """Whether what was kept for a person still is what he decides on."""
    if info.st_mode != before.mode or info.st_size != before.size:
        return False
    try:
        return digest(project, change.path) == change.before_sha256
    except OSError:
        return False
