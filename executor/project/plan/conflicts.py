"""Conflicts: the host has neither what a change began with, nor what the run left."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass

from executor.project.store.manifest import Change
from executor.project.view.contents import digest, same_content
from executor.project.view.record import EntryState, state_of
from executor.project.view.tree import Tree, split

SPECIAL_BITS = 0o7000


@dataclass(frozen=True, slots=True)
class Conflicts:
    """Holds changes, whose contents are in one tree, against the project."""

    contents: Tree
    project: Tree

    def find(
        self, change: Change, info: os.stat_result | None, *, is_in_new_folder: bool
    ) -> str | None:
        """Return why a change can't be made to what is there now, "" where it can.

        None is returned if it was made already.
        """
        if change.change == "created":
            return self._find_new(change, info, is_in_new_folder=is_in_new_folder)
        if info is not None and self._is_as_before(change, info):
            return ""
        is_gone = change.change == "deleted" and info is None
        # Times that are others by now say nothing any more.
        if is_gone or change.change == "times" or self._is_as_left(change, info):
            return None
        run = "deleted" if change.change == "deleted" else "changed"
        host = "changed" if info else "deleted"
        return f"the run {run} it; it was {host} meanwhile"

    def _find_new(
        self, change: Change, info: os.stat_result | None, *, is_in_new_folder: bool
    ) -> str | None:
        if info is None:
            has_folder = is_in_new_folder or self._has_folder(change)
            return "" if has_folder else "the run created it; its folder was removed meanwhile"
        is_made = change.kind == "folder" and is_folder(info)
        if is_made or self._is_as_left(change, info):
            return None
        return "the run created it; something else came there meanwhile"

    def _has_folder(self, change: Change) -> bool:
        try:
            self.project.folder(split(change.path)[0])
        except OSError:
            return False
        return True

    def _is_as_before(self, change: Change, info: os.stat_result) -> bool:
        """Return whether an entry is what was found; of a folder its mode counts if it was set."""
        before = change.before
        if before is None:
            return False
        if stat.S_ISDIR(before.mode):
            is_mode_changed = change.change == "mode" and info.st_mode != before.mode
            return stat.S_ISDIR(info.st_mode) and not is_mode_changed
        return state_of(info) == before or self._has_content_before(change, info, before)

    def _is_as_left(self, change: Change, info: os.stat_result | None) -> bool:
        """Return whether someone else brought about what the run did."""
        if info is None or change.change not in ("created", "modified"):
            return False
        if change.kind == "file":
            seen = (stat.S_IFREG | change.mode, change.size)
            is_alike = (info.st_mode & ~SPECIAL_BITS, info.st_size) == seen
            return is_alike and same_content(
                self.contents, self.project, change.path, state_of(info)
            )
        is_link = change.kind == "link" and stat.S_ISLNK(info.st_mode)
        return is_link and self.project.target(change.path) == change.target

    def _has_content_before(self, change: Change, info: os.stat_result, before: EntryState) -> bool:
        """Return whether what was kept for a person still is what he decides on."""
        is_alike = (info.st_mode, info.st_size) == (before.mode, before.size)
        try:
            known = change.before_sha256
            return bool(known) and is_alike and digest(self.project, change.path) == known
        except OSError:
            return False


def is_folder(info: os.stat_result | None) -> bool:
    """Return whether there is a folder."""
    return info is not None and stat.S_ISDIR(info.st_mode)


def replaces_folder(change: Change) -> bool:
    """Return whether a folder has to give way to something else."""
    before = change.before
    is_other = change.kind != "folder" and change.change != "deleted"
    return before is not None and stat.S_ISDIR(before.mode) and is_other
