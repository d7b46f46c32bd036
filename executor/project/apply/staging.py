"""Preparing contents in the project, under temporary names next to their targets."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from base import process
from executor.instance import lock
from executor.model import LeftOut
from executor.project.apply.arrangement import ANY, is_as_expected
from executor.project.plan.conflicts import Plan, is_folder
from executor.project.store.manifest import Change, ChangeSet
from executor.project.view.record import is_below
from executor.project.view.tree import NEW_FILE, Tree, copy, remove_layers, set_attributes, split

# Errors of one path alone; a full disk, for example, concerns all paths.
OF_ONE_PATH = frozenset(
    {
        *(errno.EACCES, errno.EPERM, errno.EROFS),
        *(errno.EINVAL, errno.ENAMETOOLONG, errno.EILSEQ, errno.EFBIG, errno.EOPNOTSUPP),
    }
)
NO_LINK = frozenset({errno.EPERM, errno.EACCES, errno.EMLINK, errno.EXDEV, errno.EOPNOTSUPP})
DEFAULT_ACCESS = "system.posix_acl_default"


def step() -> None:
    """Mark a point between two steps of a commit. Tests end the process at each of them."""


class Preparing:
    """Writes contents under temporary names, with their final owner."""

    def __init__(self, plan: Plan, project: Tree, changes: ChangeSet, contents: Tree) -> None:
        self.plan = plan
        self.project = project
        self.contents = contents
        self.may_move = changes.may_move
        self.moving: list[str] = []  # contents that are now in the project, too
        self.gives = process.holds(process.CHOWN)
        self.places: dict[int, str] = {}  # the first of each group of hard links
        self.aside = Tree(project.top)  # its descriptors don't close those in use

    def prepare(self, preparations: Sequence[tuple[str, Change]]) -> Sequence[LeftOut]:
        """Write all of them, new folders with their contents; return those that can't be written.

        Raises:
            OSError: the project can't be written, or a content can't be read.
        """
        folders, unwritten = [], []
        missing: set[str] = set()
        with self.aside:
            for place, change in preparations:
                step()
                if missing and is_below(place, missing):
                    continue
                try:
                    self._prepare(place, change)
                except OSError as error:
                    if error.errno not in OF_ONE_PATH:
                        raise
                    unwritten.append(self._give_up(place, change, error))
                    missing.add(place)
                    continue
                if change.kind == "folder":
                    folders.append((place, change))
            for place, change in reversed(folders):  # once their contents are written
                self._finish(self.project.folder(place), change)
        return unwritten

    def forget_moved(self) -> None:
        """Remove the former names of contents that the project now has.

        Contents that were left out stay there.
        """
        for path in self.moving:
            folder, name = split(path)
            info = self.contents.info(path)
            if info is not None and info.st_nlink > 1:
                with contextlib.suppress(OSError):  # it is deleted with its room anyway
                    os.unlink(name, dir_fd=self.contents.folder(folder))

    def _prepare(self, place: str, change: Change) -> None:
        above, name = split(place)
        folder = self.project.folder(above)
        if change.kind == "folder":
            os.mkdir(name, 0o700, dir_fd=folder)
        elif change.kind == "link":
            os.symlink(change.target, name, dir_fd=folder)
            if self.gives:
                os.chown(name, *self._owner(change), dir_fd=folder, follow_symlinks=False)
            times = (change.mtime_ns, change.mtime_ns)
            os.utime(name, ns=times, dir_fd=folder, follow_symlinks=False)
        elif not self._link_to_known(place, change, folder):
            source = self.contents.open(change.path)
            try:
                self._write(change, source, folder, name)
            finally:
                os.close(source)

    def _write(self, change: Change, source: int, folder: int, name: str) -> None:
        if self._moves(change, source, folder, name):
            remove_layers(source)
            self._finish(source, change)
            return
        target = os.open(name, NEW_FILE, 0o600, dir_fd=folder)
        try:
            copy(source, target)
            self._finish(target, change)
        finally:
            os.close(target)

    def _finish(self, target: int, change: Change) -> None:
        """Give an open file or folder its owner, attributes, mode and times, in this order."""
        if self.gives:
            os.fchown(target, *self._owner(change))
        if change.xattrs:
            set_attributes(target, change.xattrs)
        # A new folder inherits its group from the folder that it is in, if that has the bit.
        inherited = os.fstat(target).st_mode & stat.S_ISGID if change.kind == "folder" else 0
        os.fchmod(target, change.mode | inherited)
        os.utime(target, ns=(change.mtime_ns, change.mtime_ns))

    def _moves(self, change: Change, source: int, folder: int, name: str) -> bool:
        """Link a file into the project if that is as good as a copy. 300 small files take 8 ms this
        way, and 80 ms to copy."""
        may_move = self.may_move and change.mode & stat.S_IRUSR
        if not may_move or not _is_as_new(source, folder):
            return False
        try:
            os.link(f"/proc/self/fd/{source}", name, dst_dir_fd=folder)
        except OSError as error:
            if error.errno not in NO_LINK:
                raise
            return False
        self.moving.append(change.path)
        return True

    def _give_up(self, place: str, change: Change, error: OSError) -> LeftOut:
        """Remove an incomplete file; others that link to it are then written themselves."""
        folder, name = split(place)
        with contextlib.suppress(OSError):
            remove(name, self.project.folder(folder))
        if self.places.get(change.group) == place:
            del self.places[change.group]
        why = f"cannot write it: {os.strerror(error.errno or errno.EIO)}"
        return LeftOut(change.path, why, "closed")

    def _owner(self, change: Change) -> tuple[int, int]:
        """Return the owner of the replaced entry, or of the nearest folder that existed before."""
        present = self.plan.present
        info = present.get(change.path)
        if info is None:
            folder, _ = split(change.path)
            while folder in present and not is_folder(present[folder]):
                folder, _ = split(folder)
            info = os.fstat(self.aside.folder(folder))
        return info.st_uid, info.st_gid

    def _link_to_known(self, place: str, change: Change, folder: int) -> bool:
        """Make a hard link to a file that another change wrote, or to an unchanged file."""
        if not change.group:
            return False
        origin = self.places.get(change.group, "")
        if not origin and change.source and self._is_unchanged(change.source):
            origin = change.source
        if not origin:
            self.places[change.group] = place
            return False
        beside, first = split(origin)
        links = {"src_dir_fd": self.aside.folder(beside), "dst_dir_fd": folder}
        try:
            os.link(first, split(place)[1], **links, follow_symlinks=False)
        except OSError as error:  # another user's file, or one with too many links: copied instead
            if error.errno not in NO_LINK:
                raise
            return False
        return True

    def _is_unchanged(self, path: str) -> bool:
        info = self.aside.info(path)
        was = self.plan.states.get(path)
        if info is None or was is None or not stat.S_ISREG(info.st_mode):
            return False
        return is_as_expected(info, was._replace(ctime_ns=ANY))  # earlier links to it set this time


def remove(name: str, folder: int) -> None:
    """Remove an entry of an open folder, if it exists; follow no link.

    Raises:
        OSError: this user has no permission.
    """
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return
    except (IsADirectoryError, PermissionError):
        lock.remove(Path(f"/proc/{os.getpid()}/fd/{folder}/{name}"))


def _is_as_new(source: int, folder: int) -> bool:
    """Return whether an open file is just like a new one in a folder: it has one name, neither
    labels nor access lists from elsewhere, and the folder would not give it any."""
    info = os.fstat(source)
    if not stat.S_ISREG(info.st_mode) or info.st_nlink != 1:
        return False
    if os.fstat(folder).st_mode & stat.S_ISGID:
        return False
    try:
        has_list = DEFAULT_ACCESS in os.listxattr(folder)
        return not has_list and all(name.startswith("user.") for name in os.listxattr(source))
    except OSError as error:
        return error.errno == errno.EOPNOTSUPP
