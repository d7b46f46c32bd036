"""Repositories in whose own folders a run changed anything."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from executor.project.rules.name_folding import fold
from executor.project.rules.names import is_control
from executor.project.store.manifest import Change
from executor.project.view.record import Record
from executor.project.view.tree import split

OWN = ".git"
HEAD, OBJECTS = "HEAD", "objects"
# gitrepository-layout(5): a folder with both is a repository. Where file systems fold names, so is
# one with other spellings of them.
_MARKS = (HEAD, OBJECTS)


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository by its own folder `control`, "" for the project itself; `top` has its files.

    Paths are relative to the project. `existed` and `exists` tell whether it was one when the view
    began, and whether the run left one. A submodule's lies in that of another.
    """

    number: int
    control: str
    top: str
    existed: bool
    exists: bool

    @property
    def prefix(self) -> str:
        """What the paths of its own folder begin with."""
        return f"{self.control}/" if self.control else ""

    @property
    def shown(self) -> str:
        """Its own folder as it is told of."""
        return self.control or "."


class Repositories:
    """Tells which repository's own folder a changed path lies in."""

    def __init__(self, record: Record, changes: Iterable[Change]) -> None:
        self._project = record.project
        self._states = record.states
        self._changed = {change.path: change for change in changes}
        self._folded = self._fold_marks()
        self.found: dict[str, Repository] = {}
        self._of: dict[str, Repository | None] = {}
        for path in self._changed:
            self.of(path)

    def of(self, path: str) -> Repository | None:
        """The innermost repository in whose own folder a path lies, or that it is itself."""
        known = self._of.get(path, self)
        if not isinstance(known, Repositories):
            return known
        above = self.of(split(path)[0]) if path else None
        found = self._at(path, is_inside=above is not None) or above
        self._of[path] = found
        return found

    def add(self, control: str) -> Repository:
        """A repository of which a person decides what waits."""
        folder, name = split(control)
        top = folder if name == OWN else control
        is_there = f"{control}/{HEAD}".lstrip("/") in self._states
        self.found[control] = Repository(len(self.found) + 1, control, top, is_there, True)
        return self.found[control]

    def was_there(self, path: str) -> bool:
        """Whether something was at a path when the view began."""
        return path in self._states

    def is_there(self, path: str) -> bool:
        """Whether the run left something at a path."""
        change = self._changed.get(path)
        return path in self._states if change is None else change.change != "deleted"

    def is_changed(self, path: str) -> bool:
        """Whether the run left something else at a path, or nothing any more."""
        change = self._changed.get(path)
        return change is not None and change.change != "times"

    def changes_of(self, repository: Repository) -> Iterator[Change]:
        """The changes in its own folder, but for those of repositories in there."""
        return (c for c in self._changed.values() if self.of(c.path) is repository)

    def _at(self, path: str, *, is_inside: bool) -> Repository | None:
        folder, name = split(path)
        if name != OWN and is_control(name):  # never committed, whatever it holds
            return None
        prefix = f"{path}/" if path else ""
        existed = all(self.was_there(prefix + mark) for mark in _MARKS)
        exists = all(self.is_there(prefix + mark) for mark in _MARKS)
        is_like = self._folded.get(path) == {*map(fold, _MARKS)}
        is_own = name == OWN and not is_inside
        if not (existed or exists or is_like or (is_own and self._is_folder(path))):
            return None
        top = folder if is_own else path
        self.found[path] = Repository(len(self.found) + 1, path, top, existed, exists)
        return self.found[path]

    def _is_folder(self, path: str) -> bool:
        change = self._changed.get(path)
        return change.kind == "folder" if change else path in self._states

    def _fold_marks(self) -> dict[str, set[str]]:
        """The marks of repositories that a run left, in whatever spelling, by their folders."""
        marks = {*map(fold, _MARKS)}
        found: dict[str, set[str]] = {}
        for path, change in self._changed.items():
            folder, name = split(path)
            mark = fold(name)
            other = "folder" if mark == fold(HEAD) else "file"
            if mark in marks and change.kind != other and change.change != "deleted":
                found.setdefault(folder, set()).add(mark)
        for folder, seen in found.items():
            if seen != marks:
                seen.update(self._fold_others(folder, marks))
        return found

    def _fold_others(self, folder: str, marks: set[str]) -> set[str]:
        """Find the marks that were in a folder before, in whatever spelling."""
        prefix = f"{folder}/" if folder else ""
        with contextlib.suppress(OSError), os.scandir(self._project / folder) as entries:
            there = [entry for entry in entries if self.is_there(prefix + entry.name)]
            kinds = {fold(e.name): e.is_dir() for e in there if fold(e.name) in marks}
            return {mark for mark, is_folder in kinds.items() if is_folder == (mark != fold(HEAD))}
        return set()
