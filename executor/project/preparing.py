"""Preparing contents in the project, under temporary names beside their targets."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence

from executor.project import steps
from executor.project.arrangement import Preparation
from executor.project.operations import at_any_time, is_as_expected
from executor.project.plan import Plan
from executor.project.tree import Tree, split
from executor.project.writing import Owner, Writer

NOBODY = Owner(-1, -1)


class Preparing:
    """Writes contents under temporary names."""

    def __init__(self, plan: Plan, project: Tree, source: Tree) -> None:
        self.plan = plan
        self.project = project
        self.source = source
        self.writer = Writer()
        self.is_root = os.geteuid() == 0
        self.places: dict[int, str] = {}  # of the first of each group of hard links
        self.owners: dict[str, Owner] = {}
        self.aside = Tree(project.top)  # its descriptors don't close those in use

    def prepare(self, preparations: Sequence[Preparation]) -> None:
        """Write all of them, new folders with what is in them.

        Raises:
            OSError: the project can't be written, or a content not be read.
        """
        folders = []
        with self.aside:
            for each in preparations:
                steps.step()
                folder, name = split(each.place)
                descriptor = self.project.folder(folder)
                if each.change.kind == "folder":
                    os.mkdir(name, 0o700, dir_fd=descriptor)
                    folders.append(each)
                elif each.change.kind == "link":
                    self.writer.link(descriptor, name, each.change, self._owner(each))
                elif not self._link_to_known(each, descriptor, name):
                    self._write(each, descriptor, name)
            for each in reversed(folders):
                opened = self.project.folder(each.place)
                self.writer.finish_folder(opened, each.change, self._owner(each))

    def _write(self, each: Preparation, folder: int, name: str) -> None:
        source = self.source.open(each.change.path)
        try:
            self.writer.file(source, folder, name, each.change, self._owner(each))
        finally:
            os.close(source)

    def _owner(self, each: Preparation) -> Owner:
        """That of what is replaced, else of the nearest folder that was there before."""
        if not self.is_root:  # who can't give anything away
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
        os.link(
            first,
            name,
            src_dir_fd=self.aside.folder(beside),
            dst_dir_fd=folder,
            follow_symlinks=False,
        )
        return True

    def _is_unchanged(self, path: str) -> bool:
        info = self.aside.info(path)
        was = self.plan.states.get(path)
        if info is None or was is None or not stat.S_ISREG(info.st_mode):
            return False
        return is_as_expected(info, at_any_time(was))  # earlier links to it have set its time


def _is_folder(info: os.stat_result | None) -> bool:
    return info is not None and stat.S_ISDIR(info.st_mode)
