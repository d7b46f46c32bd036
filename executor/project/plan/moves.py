"""Which renames are applied as such: what was moved keeps its inode, and nothing is copied.

Only where the run left each content as it was, and the host all that is moved, and no more.
"""

from __future__ import annotations

import stat
from collections.abc import Mapping
from dataclasses import dataclass

from executor.project.plan.plan import Plan
from executor.project.store.manifest import Change
from executor.project.view.record import is_below
from executor.project.view.tree import Tree, split
from executor.project.view.walking import walk

_ENTERED = 0o300  # a folder that its owner may write to and go through


@dataclass(slots=True)
class _Moves:
    plan: Plan
    pairs: Mapping[str, str]
    project: Tree
    created: Mapping[str, Change]
    deleted: Mapping[str, Change]
    gives_way: set[str]

    def find(self) -> dict[str, str]:
        """New paths to old ones, none below another."""
        found: dict[str, str] = {}
        for new in sorted(self.pairs, key=len):
            old = self.pairs[new]
            if is_below(new, set(found)) or is_below(old, set(found.values())):
                continue
            if self._can_be_moved(old, new):
                found[new] = old
        return found

    def _can_be_moved(self, old: str, new: str) -> bool:
        one, other = self.deleted.get(old), self.created.get(new)
        if one is None or other is None or one.kind != other.kind or other.group:
            return False
        if self.plan.present[new] is not None or not self._may_enter(split(new)[0]):
            return False
        unit = self.plan.units.get(new, 0)
        if unit > 0 or unit != self.plan.units.get(old, 0) or is_below(old, self.gives_way):
            return False
        return one.kind == "file" or (one.kind == "folder" and self._is_whole(old, new, one))

    def _may_enter(self, folder: str) -> bool:
        made = self.created.get(folder)
        return made is None or made.mode & _ENTERED == _ENTERED

    def _is_whole(self, old: str, new: str, folder: Change) -> bool:
        """Whether the host has in it what the run took out of it, and links are the same."""
        if folder.mode & _ENTERED != _ENTERED:
            return False
        start, missing = len(old), {p for p in self.deleted if p.startswith(f"{old}/")}
        closed: list[str] = []
        try:
            for each in walk(self.project.folder(old), lambda _: True, closed.append):
                for entry in each.entries:
                    path = f"{old}/{each.prefix}{entry.name}"
                    if path not in missing or not self._is_alike(path, new + path[start:]):
                        return False
                    missing.remove(path)
        except OSError:
            return False
        return not missing and not closed

    def _is_alike(self, old: str, new: str) -> bool:
        change = self.created[new]
        if change.group:
            return False
        return change.kind != "link" or self.project.target(old) == change.target


def find_moves(plan: Plan, pairs: Mapping[str, str], project: Tree) -> dict[str, str]:
    """Of renamed files and folders, new paths to old ones, those that can be moved."""
    created = {c.path: c for c in plan.changes if c.change == "created"}
    deleted = {c.path: c for c in plan.changes if c.change == "deleted"}
    gives_way = {
        change.path
        for change in plan.changes
        if change.before is not None
        and stat.S_ISDIR(change.before.mode)
        and change.kind != "folder"
    }
    return _Moves(plan, pairs, project, created, deleted, gives_way).find()
