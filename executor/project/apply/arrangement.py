"""The steps of a plan, in their order; each may be repeated after a kill."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from dataclasses import dataclass
from functools import partial

from executor.model import LeftOut
from executor.project.git.repository_import import Taking
from executor.project.plan.conflicts import SPECIAL_BITS, Plan, is_set_in_place
from executor.project.store.manifest import Change
from executor.project.view.record import is_below
from executor.project.view.tree import Attributes, EntryState, Tree, set_attributes, split, state_of

ANY = -1


@dataclass(frozen=True, slots=True)
class Operation:
    """A step on one path."""

    kind: str  # put, delete, attributes or take
    path: str
    entry: str  # file, folder, link or repository
    expected: EntryState | None = None  # the path's required state; None: missing
    temporary: str = ""  # the prepared name of the entry to put, in the same folder
    mode: int = -1  # for kind attributes; -1: unchanged
    mtime_ns: int = -1
    xattrs: Attributes | None = None
    unit: int = 0  # the repository that is taken, or whose working tree this is in
    taking: Taking | None = None


def expect(info: os.stat_result | None, *, at_any_time: bool = False) -> EntryState | None:
    """Return the state that a step expects at its path, if this is its present one.

    A file with several hard links may have any time of change: steps on the other links set it.
    """
    if info is None:
        return None
    is_any = at_any_time or info.st_nlink > 1
    return state_of(info)._replace(ctime_ns=ANY) if is_any else state_of(info)


def is_as_expected(info: os.stat_result | None, expected: EntryState | None) -> bool:
    """Return whether an entry is unchanged; a folder's contents may differ."""
    if info is None or expected is None:
        return info is None and expected is None
    if stat.S_ISDIR(expected.mode):
        return stat.S_ISDIR(info.st_mode)
    return expected == expect(info, at_any_time=expected.ctime_ns == ANY)


def execute(operation: Operation, project: Tree) -> LeftOut | None:
    """Do one step; if someone else changed its path, leave that and report it."""
    folder, name = split(operation.path)
    try:
        descriptor = project.folder(folder)
    except OSError:
        return None if operation.kind == "delete" else left_as_changed(operation)
    try:
        is_done = _STEPS[operation.kind](operation, descriptor, name)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EBUSY) and operation.kind == "delete":
            return LeftOut(operation.path, "it contains files that the run did not delete", "kept")
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.EISDIR, errno.ENOTDIR):
            why = os.strerror(error.errno or errno.EIO)
            return LeftOut(operation.path, f"cannot write it: {why}", "closed")
        is_done = False
    return None if is_done else left_as_changed(operation)


def left_as_changed(operation: Operation) -> LeftOut:
    """Report that someone else has changed the path of a step."""
    return LeftOut(operation.path, "someone else changed it in the meantime", "conflict")


def _put(operation: Operation, folder: int, name: str) -> bool:
    info, expected = _info(name, folder), operation.expected
    if _info(operation.temporary, folder) is None:
        return True  # it is already in place
    # Renaming can't replace a folder, nor anything by a folder: remove the former entry first.
    is_folder = operation.entry == "folder"
    makes_way = expected is not None and (is_folder or stat.S_ISDIR(expected.mode))
    if not is_as_expected(info, expected) and not (info is None and makes_way):
        return False
    if info is not None and is_folder:
        os.unlink(name, dir_fd=folder)
    os.rename(operation.temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    return True


def _delete(operation: Operation, folder: int, name: str) -> bool:
    info = _info(name, folder)
    if info is None:
        return True
    if not is_as_expected(info, operation.expected):
        return False
    (os.rmdir if stat.S_ISDIR(info.st_mode) else os.unlink)(name, dir_fd=folder)
    return True


def _set(operation: Operation, folder: int, name: str) -> bool:
    """Set mode, times and attributes of an entry that is held open: it can't be exchanged."""
    try:
        descriptor = os.open(name or ".", os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return False
    try:
        info = os.fstat(descriptor)
        place = f"/proc/self/fd/{descriptor}"
        times = (info.st_atime_ns, operation.mtime_ns)
        if not _may_be_set(info, operation):
            return False
        if operation.entry == "link":
            os.utime(name, ns=times, dir_fd=folder, follow_symlinks=False)
            return True
        if operation.xattrs is not None:
            set_attributes(place, operation.xattrs)
        if operation.mode >= 0 and stat.S_IMODE(info.st_mode) != operation.mode:
            os.chmod(place, operation.mode)
        if operation.mtime_ns >= 0 and info.st_mtime_ns != operation.mtime_ns:
            # Another user's folder that we may write to keeps its own times; nothing is lost.
            with contextlib.suppress(*(PermissionError,) * (operation.entry == "folder")):
                os.utime(place, ns=times)
    finally:
        os.close(descriptor)
    return True


def _may_be_set(info: os.stat_result, operation: Operation) -> bool:
    expected = operation.expected
    if expected is None or stat.S_ISDIR(expected.mode):
        return stat.S_ISDIR(info.st_mode)
    is_same = (info.st_ino, info.st_size) == (expected.inode, expected.size)
    return is_same and info.st_mtime_ns in (expected.mtime_ns, operation.mtime_ns)


_STEPS = {"put": _put, "delete": _delete, "attributes": _set}


def _info(name: str, folder: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


class Arrangement:
    """The actions of a commit: contents are written to places in the project, then come the steps.

    The contents of a new folder are prepared inside it, and put in place with it.
    """

    def __init__(self, plan: Plan, token: str) -> None:
        """Order a plan's steps; `token`, which nobody can guess, is part of temporary names."""
        self.preparations: list[tuple[str, Change]] = []
        self._plan = plan
        self._token = token
        self._puts: list[Operation] = []
        self._deletions: list[Operation] = []
        self._attributes: dict[str, Operation] = {}
        self._touched: set[str] = set()  # folders whose entries change
        self._replaced: set[str] = set()  # folders that something else replaces
        top = place = ""
        for change in plan.changes:
            if top and change.path.startswith(top):
                self.preparations.append((place + change.path[len(top) :], change))
            elif made := self._arrange(change):
                top, place = f"{change.path}/", f"{made}/"
        if plan.top_mtime_ns >= 0:
            self._keep_times_of_folders()

    @property
    def operations(self) -> tuple[Operation, ...]:
        """Return all steps. Changes come folders first, and deletions in reverse order.

        Known repositories are taken before the files of their working trees, new ones after them.
        """
        takes, made = (
            [
                Operation("take", taking.carried.control, "repository", unit=number, taking=taking)
                for number, taking in self._plan.takings
                if taking.is_new is is_new
            ]
            for is_new in (False, True)
        )
        first: list[Operation] = []
        last: list[Operation] = []
        for each in reversed(self._deletions):
            (first if is_below(each.path, self._replaced) else last).append(each)
        # Setting the times of one folder changes those of no other: any order works.
        return (*takes, *first, *self._puts, *last, *made, *self._attributes.values())

    def _arrange(self, change: Change) -> str:
        """Arrange a change; if it makes a folder, return where that is prepared."""
        path, info = change.path, self._plan.present[change.path]
        unit = self._plan.units.get(path, 0)
        make = partial(Operation, path=path, entry=change.kind, expected=expect(info), unit=unit)
        if is_set_in_place(change, info):
            is_folder = info is not None and stat.S_ISDIR(info.st_mode)
            special = info.st_mode & SPECIAL_BITS if info and is_folder else 0
            self._attributes[path] = make(
                "attributes",
                expected=expect(info, at_any_time=True),
                mode=change.mode | special,
                mtime_ns=change.mtime_ns,
                xattrs=change.xattrs,
            )
            return ""
        folder, _ = split(path)
        self._touched.add(folder)
        if change.change == "deleted":
            self._deletions.append(make("delete"))
            return ""
        if change.kind != "folder" and change.before and stat.S_ISDIR(change.before.mode):
            self._replaced.add(path)
            self._deletions.append(make("delete", entry="folder"))
        temporary = f".ctxmode-{self._token}-{len(self._puts)}"
        place = f"{folder}/{temporary}" if folder else temporary
        self.preparations.append((place, change))
        self._puts.append(make("put", temporary=temporary))
        return place if change.kind == "folder" else ""

    def _keep_times_of_folders(self) -> None:
        """Give folders whose entries change the times that they had in the view."""
        gone = {each.path for each in self._deletions}
        for path in self._touched - gone - self._attributes.keys():
            was = self._plan.states.get(path)
            if was or not path:
                mtime_ns = was.mtime_ns if was else self._plan.top_mtime_ns
                self._attributes[path] = Operation("attributes", path, "folder", mtime_ns=mtime_ns)
