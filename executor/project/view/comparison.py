"""What differs between a view's entries and what the project was when the view began."""

from __future__ import annotations

import os
import stat
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import replace

from base import capabilities
from executor.project.store.manifest import Change, ChangeSet, CommitError, LeftOut
from executor.project.view.attributes import Attributes, attributes
from executor.project.view.contents import same_content
from executor.project.view.limits import BYTES_MAX, CHANGES_MAX
from executor.project.view.record import EntryState, Record
from executor.project.view.tree import Tree, in_tree_order
from executor.project.view.walking import FOLDER_FLAGS

PATH_BYTES_MAX = 4095  # linux/limits.h, of a whole path with its end
KINDS = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}
PERMISSIONS = 0o777


class Comparison:
    """Gathers the changes between a view, entry by entry, and a record.

    `was` says how the view's own entries were at its start: their sizes, modes and times.
    """

    def __init__(self, record: Record, view: int, was: Mapping[str, EntryState]) -> None:
        """Look at `view`, a descriptor that the caller closes afterwards."""
        self.record = record
        self.view = Tree(view)
        self.was = was
        self._project = os.open(record.project, FOLDER_FLAGS)
        self.project = Tree(self._project)
        self.changes: dict[str, Change] = {}
        self.refused: list[LeftOut] = []
        self._present: set[str] = set()
        self._sorted: list[str] = []
        self._linked: dict[int, list[str]] = {}
        self._bytes = 0
        self._path_bytes_max = PATH_BYTES_MAX - len(os.fsencode(record.project)) - 2

    def close(self) -> None:
        """Close what was opened."""
        self.view.forget()
        self.project.forget()
        os.close(self._project)

    def look(self, path: str, info: os.stat_result, place: str) -> None:
        """Compare one entry of the view, which `place` reaches where it is no link."""
        self._present.add(path)
        kind = KINDS.get(stat.S_IFMT(info.st_mode))
        if kind is None:
            self.refused.append(LeftOut(path, "neither file, folder nor link", "refused"))
            return
        if len(os.fsencode(path)) > self._path_bytes_max:
            self.refused.append(LeftOut(path, "its path is too long", "refused"))
            return
        if kind == "file" and info.st_nlink > 1:
            self._linked.setdefault(info.st_ino, []).append(path)
        self._make_readable(info, place)
        change = self._change(path, info, kind, place)
        if change is not None:
            self._add(change)

    def _make_readable(self, info: os.stat_result, place: str) -> None:
        """Let this user read what its program closed to itself, too."""
        needed = {stat.S_IFREG: 0o400, stat.S_IFDIR: 0o700}.get(stat.S_IFMT(info.st_mode), 0)
        if info.st_mode & needed != needed and not capabilities.holds(capabilities.DAC_OVERRIDE):
            os.chmod(place, stat.S_IMODE(info.st_mode) | needed)

    def _add(self, change: Change) -> None:
        self.changes[change.path] = change
        self._bytes += change.size if change.kind == "file" else 0
        if len(self.changes) > CHANGES_MAX or self._bytes > BYTES_MAX:
            raise CommitError(
                f"the run changed more than {CHANGES_MAX:,} entries or {BYTES_MAX >> 30} GiB; "
                "nothing of it is applied",
                "have it write to a folder outside the project, or in several runs",
            )

    def _change(self, path: str, info: os.stat_result, kind: str, place: str) -> Change | None:
        before, was = self.record.states.get(path), self.was.get(path)
        own = () if kind == "link" else attributes(place)
        if before is None or was is None:
            what = "created"
        elif stat.S_IFMT(was.mode) != stat.S_IFMT(info.st_mode):
            what = "modified"
            if stat.S_ISDIR(was.mode):
                self.delete_below(path)
        else:
            what = self._difference(path, info, kind, was, before)
            if not what and not self._has_attributes(path, kind, own):
                what = "mode"
        if not what:
            return None
        return Change(
            path,
            what,
            kind,
            info.st_mode & PERMISSIONS,
            info.st_size if kind == "file" else 0,
            info.st_mtime_ns,
            self.view.target(path) if kind == "link" else "",
            xattrs=own,
            before=before,
        )

    def _difference(
        self, path: str, info: os.stat_result, kind: str, was: EntryState, before: EntryState
    ) -> str:
        """What differs between two entries of one kind: modified, mode, times, or nothing."""
        if kind == "file" and (
            info.st_size != was.size or not same_content(self.view, self.project, path, before)
        ):
            return "modified"
        if kind == "link" and self._target_before(path) != self.view.target(path):
            return "modified"
        if kind != "link" and (info.st_mode ^ was.mode) & PERMISSIONS:
            return "mode"
        return "times" if info.st_mtime_ns != was.mtime_ns else ""

    def _target_before(self, path: str) -> str | None:
        try:
            return self.project.target(path)
        except OSError:
            return None

    def _has_attributes(self, path: str, kind: str, own: Attributes) -> bool:
        """Whether the project's entry has the same; one that is gone meanwhile says nothing."""
        if kind == "link":
            return True
        try:
            if kind == "folder":
                return attributes(self.project.folder(path)) == own
            descriptor = self.project.open(path)
        except OSError:
            return True
        try:
            return attributes(descriptor) == own
        finally:
            os.close(descriptor)

    def delete(self, path: str) -> None:
        """Take a path of the record, and all below it, for deleted, unless the view has it."""
        if path in self.record.states:
            self._delete(path)
            self.delete_below(path)
        elif path not in self._present:
            # It came after the record, or was never shown: that it is gone says nothing of ours.
            self._add(Change(path, "deleted", "file", 0, 0, 0))

    def delete_below(self, path: str) -> None:
        """Take all that the record has below a folder for deleted, unless the view has it."""
        if not self._sorted:
            self._sorted = sorted(self.record.states)
        first = bisect_left(self._sorted, f"{path}/")
        last = bisect_left(self._sorted, f"{path}0")  # "0" follows "/"
        for each in self._sorted[first:last]:
            self._delete(each)

    def _delete(self, path: str) -> None:
        if path in self._present or path in self.changes:
            return
        state = self.record.states[path]
        kind = KINDS.get(stat.S_IFMT(state.mode), "file")
        mode, size, mtime_ns, _, _ = state
        self.changes[path] = Change(
            path, "deleted", kind, mode & PERMISSIONS, size, mtime_ns, before=state
        )

    def result(self, contents: int) -> ChangeSet:
        """All of the changes, folders first; `contents` is the descriptor to find contents by."""
        for number, paths in enumerate(self._linked.values(), 1):
            if len(paths) > 1:
                self._tie(number, paths)
        order = sorted(self.changes.values(), key=lambda change: in_tree_order(change.path))
        return ChangeSet(self.record, tuple(order), contents, tuple(self.refused))

    def _tie(self, number: int, paths: Iterable[str]) -> None:
        """Have hard links to one another share a number, and know an unchanged one among them."""
        linked, unchanged = [], ""
        for path in sorted(paths):
            change = self.changes.get(path)
            if change is not None and change.change in ("created", "modified"):
                linked.append(change)
            else:
                unchanged = unchanged or path
        for change in linked:
            self.changes[change.path] = replace(change, group=number, source=unchanged)
