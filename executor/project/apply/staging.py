"""Preparing contents in the project, under temporary names beside their targets."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Sequence

from base import capabilities
from executor.project.apply import steps
from executor.project.apply.arrangement import Preparation
from executor.project.apply.operations import at_any_time, is_as_expected
from executor.project.apply.removing import remove
from executor.project.apply.writing import Owner, Writer
from executor.project.plan.plan import Plan
from executor.project.store.manifest import Change, LeftOut
from executor.project.view.record import is_below
from executor.project.view.tree import Tree, split

NOBODY = Owner(-1, -1)
# What the kernel says of one path alone; a full disk, say, is a matter of all of them.
OF_ONE_PATH = frozenset(
    {
        *(errno.EACCES, errno.EPERM, errno.EROFS),
        *(errno.EINVAL, errno.ENAMETOOLONG, errno.EILSEQ, errno.EFBIG, errno.EOPNOTSUPP),
    }
)
NO_LINK = frozenset({errno.EPERM, errno.EMLINK, errno.EXDEV, errno.EOPNOTSUPP})


DEFAULT_ACCESS = "system.posix_acl_default"
# What the kernel says where a file can't be renamed out of its folder into another.
_UNMOVABLE = frozenset({errno.EXDEV, errno.EPERM, errno.EACCES, errno.EOPNOTSUPP})


class Preparing:
    """Writes contents under temporary names, or moves them there."""

    def __init__(self, plan: Plan, project: Tree, source: Tree, *, may_move: bool = False) -> None:
        self.plan = plan
        self.project = project
        self.source = source
        self.writer = Writer()
        # Contents that were not copied: where each is now, and where it was.
        self.moved: list[tuple[str, str]] = []
        self.may_move = may_move
        self.passes_on: dict[str, bool] = {}  # by folder
        self.gives = capabilities.holds(capabilities.CHOWN)
        self.places: dict[int, str] = {}  # of the first of each group of hard links
        self.owners: dict[str, Owner] = {}
        self.aside = Tree(project.top)  # its descriptors don't close those in use

    def prepare(self, preparations: Sequence[Preparation]) -> Sequence[LeftOut]:
        """Write all of them, new folders with what is in them; those that can't be are given.

        Raises:
            OSError: the project can't be written, or a content not be read.
        """
        folders, unwritten = [], []
        missing: set[str] = set()
        is_closed = any(_is_closed(each.change) for each in preparations)
        if is_closed and not capabilities.holds(capabilities.DAC_OVERRIDE):
            self.may_move = False  # nothing could be put back from there
        with self.aside:
            for each in preparations:
                steps.step()
                if missing and is_below(each.place, missing):
                    continue
                try:
                    self._prepare(each)
                except OSError as error:
                    if error.errno not in OF_ONE_PATH:
                        raise
                    unwritten.append(self._give_up(each, error))
                    missing.add(each.place)
                    continue
                if each.change.kind == "folder":
                    folders.append(each)
            for each in reversed(folders):
                opened = self.project.folder(each.place)
                self.writer.finish_folder(opened, each.change, self._owner(each))
        return unwritten

    def _prepare(self, each: Preparation) -> None:
        folder, name = split(each.place)
        descriptor = self.project.folder(folder)
        if each.change.kind == "folder":
            os.mkdir(name, 0o700, dir_fd=descriptor)
        elif each.change.kind == "link":
            self.writer.link(descriptor, name, each.change, self._owner(each))
        elif not self._link_to_known(each, descriptor, name):
            self._write(each, descriptor, name)

    def _give_up(self, each: Preparation, error: OSError) -> LeftOut:
        """Take away what there is of one; others linked to it are written themselves."""
        self.put_back(frozenset({each.place}))
        folder, name = split(each.place)
        with contextlib.suppress(OSError):
            remove(name, self.project.folder(folder))
        if self.places.get(each.change.group) == each.place:
            del self.places[each.change.group]
        why = f"it can't be written: {os.strerror(error.errno or errno.EIO)}"
        return LeftOut(each.change.path, why, "closed")

    def _write(self, each: Preparation, folder: int, name: str) -> None:
        source = self.source.open(each.change.path)
        try:
            if (
                self.may_move
                and self._is_movable(each, source, folder)
                and self._move(each, folder, name)
            ):
                self.writer.finish_file(source, each.change, self._owner(each))
            else:
                self.writer.file(source, folder, name, each.change, self._owner(each))
        finally:
            os.close(source)

    def _is_movable(self, each: Preparation, source: int, folder: int) -> bool:
        above, _ = split(each.place)
        if above not in self.passes_on:
            self.passes_on[above] = passes_on(folder)
        return not self.passes_on[above] and is_movable(source)

    def _move(self, each: Preparation, folder: int, name: str) -> bool:
        beside, own = split(each.change.path)
        try:
            os.rename(own, name, src_dir_fd=self.source.folder(beside), dst_dir_fd=folder)
        except OSError as error:
            if error.errno not in _UNMOVABLE:
                raise
            self.may_move = False  # from one file system to another no other one can be
            return False
        self.moved.append((each.place, each.change.path))
        return True

    def put_back(self, places: frozenset[str]) -> None:
        """Move back where it was what lies at these places, or below them."""
        for place, path in self.moved:
            if not is_below(place, places):
                continue
            (folder, name), (beside, own) = split(place), split(path)
            with contextlib.suppress(OSError):
                target = self.source.folder(beside)
                os.rename(name, own, src_dir_fd=self.project.folder(folder), dst_dir_fd=target)
                os.chmod(own, 0o600, dir_fd=target)  # it may be closed to this user himself

    def _owner(self, each: Preparation) -> Owner:
        """That of what is replaced, else of the nearest folder that was there before."""
        if not self.gives:  # who can't give anything away
            return NOBODY
        info = self.plan.present.get(each.change.path)
        if info is not None:
            return Owner(info.st_uid, info.st_gid)
        folder, _ = split(each.change.path)
        while folder in self.plan.present and not _is_folder(self.plan.present[folder]):
            folder, _ = split(folder)
        if folder not in self.owners:
            found = os.fstat(self.aside.folder(folder))
            self.owners[folder] = Owner(found.st_uid, found.st_gid)
        return self.owners[folder]

    def _link_to_known(self, each: Preparation, folder: int, name: str) -> bool:
        """Make a hard link to what another change has written, or to an unchanged file."""
        change = each.change
        if not change.group:
            return False
        origin = self.places.get(change.group, "")
        if not origin and change.source and self._is_unchanged(change.source):
            origin = change.source
        if not origin:
            self.places[change.group] = each.place
            return False
        beside, first = split(origin)
        source = self.aside.folder(beside)
        try:
            os.link(first, name, src_dir_fd=source, dst_dir_fd=folder, follow_symlinks=False)
        except OSError as error:  # another user's file, or one with too many links: it is copied
            if error.errno not in NO_LINK:
                raise
            return False
        return True

    def _is_unchanged(self, path: str) -> bool:
        info = self.aside.info(path)
        was = self.plan.states.get(path)
        if info is None or was is None or not stat.S_ISREG(info.st_mode):
            return False
        return is_as_expected(info, at_any_time(was))  # earlier links to it have set its time


def is_movable(descriptor: int) -> bool:
    """Whether a file is nothing but what a copy of it would be: a plain one with one name.

    Labels, capabilities and access lists that it came by elsewhere are not brought along.
    """
    info = os.fstat(descriptor)
    if not stat.S_ISREG(info.st_mode) or info.st_nlink != 1:
        return False
    try:
        return all(name.startswith("user.") for name in os.listxattr(descriptor))
    except OSError as error:
        return error.errno == errno.EOPNOTSUPP


def passes_on(folder: int) -> bool:
    """Whether what is made in a folder takes on its group or its access list."""
    if os.fstat(folder).st_mode & stat.S_ISGID:
        return True
    try:
        return DEFAULT_ACCESS in os.listxattr(folder)
    except OSError as error:
        return error.errno != errno.EOPNOTSUPP


def _is_closed(change: Change) -> bool:
    return change.kind == "folder" and change.mode & stat.S_IRWXU != stat.S_IRWXU


def _is_folder(info: os.stat_result | None) -> bool:
    return info is not None and stat.S_ISDIR(info.st_mode)
