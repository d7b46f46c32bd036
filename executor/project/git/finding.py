"""Repositories in whose own folders a run changed anything."""

from __future__ import annotations

import re
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from executor.project.rules.names import fold, is_control
from executor.project.store.manifest import Change
from executor.project.view.record import Record
from executor.project.view.tree import split

OWN = ".git"
HEAD = "HEAD"
# gitrepository-layout(5): a folder with a HEAD and one of these is a repository; `commondir` says
# where objects are. Where file systems fold names, so is one with other spellings of them.
_PARTS = ("objects", "commondir")
_MARKS = {name.lower() for name in (HEAD, *_PARTS)}
# gitrepository-layout(5): of a bare repository's folder, what is git's. Other files may lie beside.
_GITS = re.compile(
    r"(?:[A-Z_]*HEAD|[A-Z_]*MSG|config(?:\.worktree|\.lock)?|description|hooks|info|objects|refs"
    r"|packed-refs|reftable|logs|branches|remotes|modules|worktrees|index|sharedindex\.[0-9a-f]+"
    r"|shallow|commondir|gitdir|common|rr-cache|lfs|svn|gc\.[a-z]+|git-daemon-export-ok"
    r"|rebase-merge|rebase-apply|sequencer|BISECT_[A-Z_]+|MERGE_[A-Z]+|AUTO_MERGE)",
    re.IGNORECASE,
)


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
        """Return what the paths of its own folder begin with."""
        return f"{self.control}/" if self.control else ""

    @property
    def shown(self) -> str:
        """Its own folder as it is told of."""
        return self.control or "."

    def is_gits(self, path: str) -> bool:
        """Return whether a path in its own folder is git's: beside a bare one's may be others."""
        inside = path[len(self.prefix) :]
        return self.top != self.control or bool(_GITS.fullmatch(fold(inside.split("/")[0])))


class Repositories:
    """Tells which repository's own folder a changed path lies in."""

    def __init__(self, record: Record, changes: Iterable[Change]) -> None:
        self._states = record.states
        self._changed = {change.path: change for change in changes}
        self._disguised = self._find_disguised(record)
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
        if above is not None and not above.is_gits(path):
            above = self.of(split(above.control)[0]) if above.control else None
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
        """Return whether something was at a path when the view began."""
        return path in self._states

    def is_there(self, path: str) -> bool:
        """Return whether the run left something at a path."""
        change = self._changed.get(path)
        return path in self._states if change is None else change.change != "deleted"

    def is_changed(self, path: str) -> bool:
        """Return whether the run left something else at a path, or nothing any more."""
        change = self._changed.get(path)
        return change is not None and change.change != "times"

    def changes_of(self, repository: Repository) -> Iterator[Change]:
        """The changes in its own folder, but for those of repositories in there."""
        return (c for c in self._changed.values() if self.of(c.path) is repository)

    def _at(self, path: str, *, is_inside: bool) -> Repository | None:
        folder, name = split(path)
        if name != OWN and is_control(name):  # never committed, whatever it holds
            return None
        existed = _is_repository(path, self.was_there, is_inside=is_inside)
        exists = _is_repository(path, self.is_there, is_inside=is_inside) or path in self._disguised
        is_own = name == OWN and not is_inside
        if not (existed or exists or (is_own and self._is_folder(path))):
            return None
        top = folder if is_own else path
        self.found[path] = Repository(len(self.found) + 1, path, top, existed, exists)
        return self.found[path]

    def _is_folder(self, path: str) -> bool:
        change = self._changed.get(path)
        if change is not None:
            return change.kind == "folder"
        return path in self._states and stat.S_ISDIR(self._states[path].mode)

    def _find_disguised(self, record: Record) -> set[str]:
        """Find folders that are repositories by other spellings, of which a run left one."""
        found: dict[str, set[str]] = {}
        for path, change in self._changed.items():
            folder, name = split(path)
            is_mark = fold(name) in _MARKS and change.change != "deleted"
            if is_mark and not _is_repository(folder, self.is_there, is_inside=False):
                found[folder] = set()
        if not found:
            return set()
        for path in {*self._changed, *(path for path, _ in record.kinds())}:
            folder, name = split(path)
            mark = fold(name)
            # A folder of that name is no HEAD.
            is_mark = mark in _MARKS and (mark != "head" or not self._is_folder(path))
            if folder in found and is_mark and self.is_there(path):
                found[folder].add(mark)
        return {folder for folder, marks in found.items() if "head" in marks and len(marks) > 1}


def _is_repository(folder: str, there: Callable[[str], bool], *, is_inside: bool) -> bool:
    """Return whether a folder has what makes a repository; within another's, a working tree's has a
    `commondir`."""
    prefix = f"{folder}/" if folder else ""
    parts = _PARTS[:1] if is_inside else _PARTS
    return there(prefix + HEAD) and any(there(prefix + part) for part in parts)
