"""A plan's data, and hindrances to a change: missing permissions, and what the host has by now."""

from __future__ import annotations

import array
import contextlib
import fcntl
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from base import capabilities
from executor.model import LeftOut
from executor.project.git.repository_import import Taking
from executor.project.rules.names import ObeyedNames
from executor.project.store.manifest import Change
from executor.project.view.contents import digest_file, same_content
from executor.project.view.record import EntryState, state_of
from executor.project.view.tree import Tree, split


@dataclass(frozen=True, slots=True)
class CommitRules:
    """All that decides on changes.

    Attributes:
        names: names that tools obey.
        shown: paths that links may lead to.
        consent: a person's, if there is: paths of never ones by exact name, and those of which
            the run's side is taken. What is held passes with any.
    """

    names: ObeyedNames
    shown: Sequence[str] = ()
    consent: tuple[frozenset[str], frozenset[str]] | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """Changes to apply, folders first, and what is left out."""

    project: Path
    changes: tuple[Change, ...]
    present: Mapping[str, os.stat_result | None]  # what is at each applied path now
    states: Mapping[str, EntryState]  # what was at the start
    # What the project's own folder is to have if its entries change; -1: folders get new times.
    top_mtime_ns: int = -1
    left_out: tuple[LeftOut, ...] = ()
    kept: tuple[Change, ...] = ()  # their contents wait for a person
    # Numbers of the repositories in whose working trees paths lie, by path.
    units: Mapping[str, int] = field(default_factory=dict)
    takings: tuple[tuple[int, Taking], ...] = ()  # by number; taken before their files are
    kept_takings: tuple[Taking, ...] = ()  # those that wait


FS_IOC_GETFLAGS = 0x80086601  # linux/fs.h: _IOR('f', 1, long)
UNCHANGING = 0x10 | 0x20  # FS_IMMUTABLE_FL, FS_APPEND_FL
TO_WRITE = stat.S_IWUSR | stat.S_IXUSR
LATER = "then `context-mode changes apply ID`"


class Permission:
    """Asks the kernel before anything is touched, so that one closed folder closes no other."""

    def __init__(self, project: Tree) -> None:
        self._project = project
        self._uid = os.geteuid()
        self._sets_all = capabilities.holds(capabilities.FOWNER)
        self._enters_all = capabilities.holds(capabilities.DAC_OVERRIDE)
        self._known: dict[str, str] = {}

    def why_refused(self, change: Change, info: os.stat_result | None) -> str:
        """Return why a change can't be made to what is there now, and what helps; "" if it can."""
        if info is not None and is_set_in_place(change, info):
            return (
                "" if self._owns(info) else f"another user's entry; its owner may set it, {LATER}"
            )
        folder, _ = split(change.path)
        if folder not in self._known:
            self._known[folder] = self._why_closed(folder)
        return self._known[folder] or (self._why_fixed(change.path, folder, info) if info else "")

    def _owns(self, info: os.stat_result) -> bool:
        return self._sets_all or self._uid == info.st_uid

    def _why_closed(self, folder: str) -> str:
        try:
            descriptor = self._project.folder(folder)
        except OSError:  # it is not there any more: no matter of permissions
            return ""
        if os.access(".", os.W_OK | os.X_OK, dir_fd=descriptor, effective_ids=True):
            return ""
        info, shown = os.fstat(descriptor), folder or "."
        if not self._owns(info):
            return f"{shown} is another user's; let its owner permit to write there, {LATER}"
        if not self._enters_all and info.st_mode & TO_WRITE != TO_WRITE:
            return f"{shown} is read-only; `chmod u+wx {shown}`, {LATER}"
        return f"{shown} can't be written, whatever its mode; see `lsattr -d {shown}`, {LATER}"

    def _why_fixed(self, path: str, folder: str, info: os.stat_result) -> str:
        """Return why an entry can't be replaced or deleted in a folder that can be written."""
        above = os.fstat(self._project.folder(folder))
        if above.st_mode & stat.S_ISVTX and not (self._owns(info) or self._owns(above)):
            return f"another user's, in a folder where all keep their own; let him do it, {LATER}"
        if self._is_unchanging(path, info):
            return f"it is immutable; `chattr -ia {path}`, {LATER}"
        return ""

    def _is_unchanging(self, path: str, info: os.stat_result) -> bool:
        folder, name = split(path)
        descriptor = self._project.folder(folder)
        is_plain = stat.S_ISREG(info.st_mode) or stat.S_ISDIR(info.st_mode)
        if not is_plain or os.access(name, os.W_OK, dir_fd=descriptor, effective_ids=True):
            return False
        flags = array.array("l", [0])
        with contextlib.suppress(OSError):  # some file systems have no such flags
            opened = self._project.open(path)
            try:
                fcntl.ioctl(opened, FS_IOC_GETFLAGS, flags)
            finally:
                os.close(opened)
        return bool(flags[0] & UNCHANGING)


def is_set_in_place(change: Change, info: os.stat_result | None) -> bool:
    """Return whether an entry stays, and only gets another mode, time or attributes."""
    is_folder_there = info is not None and stat.S_ISDIR(info.st_mode)
    stays = change.kind == "folder" and is_folder_there and change.change != "deleted"
    return stays or change.change in ("mode", "times")


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
            return bool(known) and is_alike and digest_file(self.project, change.path) == known
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
