"""The changes that a run made in a view: an overlay's upper folder or a work copy."""

from __future__ import annotations

import contextlib
import os
import stat
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from base import process
from executor.model import LeftOut
from executor.project.store.manifest import Change, ChangeSet, CommitError
from executor.project.view.record import CHANGED_BYTES_MAX, CHANGES_MAX, Record
from executor.project.view.tree import (
    FOLDER_FLAGS,
    Attributes,
    EntryState,
    Tree,
    attributes,
    in_tree_order,
    is_opaque,
    open_tree,
    same_content,
    state_of,
    walk,
)

PATH_BYTES_MAX = 4095  # linux/limits.h, of a whole path with its end
KINDS = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}
PERMISSIONS = 0o777
FIRST = "0/upper"  # in a room, if the view was never renewed


def of_upper(upper: int, record: Record, room: str = "") -> ChangeSet:
    """Read the changes from an overlay's upper folder, an open descriptor that they then own.

    After a run, its files in a `room` may be moved from there.

    Raises:
        CommitError: there are more than can be applied.
        OSError: the folder can't be read.
    """
    own = as_the_host_has_it(upper, room) if room else None
    if own is not None:
        os.close(upper)
    with _compare(record, upper if own is None else own, record.states) as comparison:
        comparison.read_upper()
        return replace(comparison.result(), may_move=own is not None)


def of_copy(folder: Path, at_start: Mapping[str, EntryState], record: Record) -> ChangeSet:
    """Read the changes from a work copy; `at_start` is its first state: `take(folder, ()).states`.

    Raises:
        CommitError: there are more than can be applied.
        OSError: the copy can't be read.
    """
    with _compare(record, os.open(folder, FOLDER_FLAGS), at_start) as comparison:
        comparison.read_copy()
        return comparison.result()


def as_the_host_has_it(upper: int, room: str) -> int | None:
    """Open the same folder below the host's `room`, from which a file can be renamed.

    A folder from a sandbox is on a separate mount, and no rename crosses mounts.
    """
    with contextlib.suppress(OSError):
        opened = os.open(f"{room}/{FIRST}", FOLDER_FLAGS)
        if os.path.sameopenfile(opened, upper):
            return opened
        os.close(opened)
    return None


@contextlib.contextmanager
def _compare(record: Record, view: int, was: Mapping[str, EntryState]) -> Iterator[_Comparison]:
    """Compare with a view; close its descriptor only after an error."""
    try:
        with Tree(view) as there, open_tree(record.project) as here:
            yield _Comparison(record, there, here, was)
    except BaseException:
        os.close(view)
        raise


class _Comparison:
    """The changes between a view and a record, collected entry by entry.

    `was` has the view's own entries at its start: their sizes, modes and times.
    """

    def __init__(
        self, record: Record, view: Tree, project: Tree, was: Mapping[str, EntryState]
    ) -> None:
        self.record = record
        self.view = view
        self.project = project
        self.was = was
        self.changes: dict[str, Change] = {}
        self.refused: list[LeftOut] = []
        self._present: set[str] = set()
        self._sorted: list[str] = []
        self._linked: dict[int, list[str]] = {}
        self._bytes = 0
        self._path_bytes_max = PATH_BYTES_MAX - len(os.fsencode(record.project)) - 2

    def read_upper(self) -> None:
        """Compare everything in an upper folder."""
        gone: list[str] = []
        opaque: list[str] = []
        deep: list[str] = []
        for prefix, descriptor, entries in walk(self.view.top, lambda _: True, deep.append):
            if prefix and is_opaque(descriptor):
                opaque.append(prefix[:-1])
            for entry in entries:
                info = entry.stat(follow_symlinks=False)
                path = prefix + entry.name
                if stat.S_ISCHR(info.st_mode) and info.st_rdev == 0:
                    gone.append(path)
                else:
                    self._look(path, info, f"/proc/self/fd/{descriptor}/{entry.name}")
        self._refuse_deep(deep)
        for path in gone:
            self._delete(path)
        for path in opaque:
            self._delete_below(path)

    def read_copy(self) -> None:
        """Compare everything in a work copy with its first state."""
        seen: set[str] = set()
        deep: list[str] = []
        for prefix, descriptor, entries in walk(self.view.top, lambda _: True, deep.append):
            for entry in entries:
                info = entry.stat(follow_symlinks=False)
                path = prefix + entry.name
                seen.add(path)
                if self.was.get(path) != state_of(info):
                    self._look(path, info, f"/proc/self/fd/{descriptor}/{entry.name}")
        self._refuse_deep(deep)
        unread = tuple(f"{path}/" for path in deep)
        for path in self.was.keys() - seen:
            if not path.startswith(unread):
                self._delete(path)

    def _refuse_deep(self, paths: list[str]) -> None:
        self.refused += [LeftOut(path, "it is too deep to be read", "refused") for path in paths]

    def _look(self, path: str, info: os.stat_result, place: str) -> None:
        """Compare one entry of the view, which is at `place` unless it is a link."""
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
        # Let this user also read files that its program made unreadable.
        needed = {"file": 0o400, "folder": 0o700, "link": 0}[kind]
        if info.st_mode & needed != needed and not process.holds(process.DAC_OVERRIDE):
            os.chmod(place, stat.S_IMODE(info.st_mode) | needed)
        own = () if kind == "link" else attributes(place)
        what = self._difference(path, info, kind, own)
        if what:
            size = info.st_size if kind == "file" else 0
            target = self.view.target(path) if kind == "link" else ""
            self._add(
                Change(
                    *(path, what, kind, info.st_mode & PERMISSIONS, size, info.st_mtime_ns, target),
                    xattrs=own,
                    before=self.record.states.get(path),
                )
            )

    def _add(self, change: Change) -> None:
        self.changes[change.path] = change
        self._bytes += change.size if change.kind == "file" else 0
        if len(self.changes) > CHANGES_MAX or self._bytes > CHANGED_BYTES_MAX:
            raise CommitError(
                f"the run changed more than {CHANGES_MAX:,} entries or "
                f"{CHANGED_BYTES_MAX >> 30} GiB; none of its changes are applied",
                "Write to a folder outside the project, or use several runs.",
            )

    def _difference(self, path: str, info: os.stat_result, kind: str, own: Attributes) -> str:
        """Return the kind of difference: created, modified, mode, times, or ""."""
        before, was = self.record.states.get(path), self.was.get(path)
        if before is None or was is None:
            return "created"
        if stat.S_IFMT(was.mode) != stat.S_IFMT(info.st_mode):
            if stat.S_ISDIR(was.mode):
                self._delete_below(path)
            return "modified"
        if kind == "link":
            is_other = self._target_before(path) != self.view.target(path)
        elif kind == "file" and info.st_size == was.size:
            is_other = not same_content(self.view, self.project, path, before)
        else:
            is_other = kind == "file"
        if is_other:
            return "modified"
        if kind != "link" and (info.st_mode ^ was.mode) & PERMISSIONS:
            return "mode"
        if info.st_mtime_ns != was.mtime_ns:
            return "times"
        return "" if kind == "link" or self._has_attributes(path, kind, own) else "mode"

    def _target_before(self, path: str) -> str | None:
        try:
            return self.project.target(path)
        except OSError:
            return None

    def _has_attributes(self, path: str, kind: str, own: Attributes) -> bool:
        """Return whether the project's entry has the same attributes, or is gone."""
        try:
            if kind == "folder":
                return attributes(self.project.folder(path)) == own
            with self.project.opened(path) as descriptor:
                return attributes(descriptor) == own
        except OSError:
            return True

    def _delete(self, path: str) -> None:
        """Record the deletion of a path and all below it, except entries that the view has."""
        if path in self.record.states:
            self._note_deletion(path)
            self._delete_below(path)
        elif path not in self._present:
            # It came after the record, or was never shown: its absence says nothing about the run.
            self._add(Change(path, "deleted", "file", 0, 0, 0))

    def _delete_below(self, path: str) -> None:
        """Record the deletion of all entries below a folder, except those that the view has."""
        if not self._sorted:
            self._sorted = sorted(self.record.states)
        first = bisect_left(self._sorted, f"{path}/")
        last = bisect_left(self._sorted, f"{path}0")  # "0" follows "/"
        for each in self._sorted[first:last]:
            self._note_deletion(each)

    def _note_deletion(self, path: str) -> None:
        if path in self._present or path in self.changes:
            return
        state = self.record.states[path]
        kind = KINDS.get(stat.S_IFMT(state.mode), "file")
        fields = path, "deleted", kind, state.mode & PERMISSIONS, state.size, state.mtime_ns
        self.changes[path] = Change(*fields, before=state)

    def result(self) -> ChangeSet:
        """Return all changes, folders first."""
        for number, paths in enumerate(self._linked.values(), 1):
            if len(paths) > 1:
                self._tie(number, sorted(paths))
        order = sorted(self.changes.values(), key=lambda change: in_tree_order(change.path))
        return ChangeSet(self.record, tuple(order), self.view.top, tuple(self.refused))

    def _tie(self, number: int, paths: list[str]) -> None:
        """Give hard links to one file a common number, and an unchanged link as their source."""
        found = [self.changes.get(path) for path in paths]
        linked = [one for one in found if one and one.change in ("created", "modified")]
        others = {*paths} - {one.path for one in linked}
        for change in linked:
            self.changes[change.path] = replace(
                change, group=number, source=min(others, default="")
            )
