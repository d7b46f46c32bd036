"""Repositories among a run's changes: each is committed as a unit, or not at all."""

from __future__ import annotations

import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from executor.project.plan import disguised_repositories
from executor.project.plan.unit_rules import RULES, UnitRules
from executor.project.rules.name_verdicts import NameJudge
from executor.project.store.manifest import Change, LeftOut
from executor.project.view.record import Record
from executor.project.view.tree import split

BARE = ".git"  # whose rules a repository without a working tree follows


@dataclass(frozen=True, slots=True)
class Unit:
    """One repository: its own folder `control`, and the folder `top` of its working tree.

    A bare one has only itself. `existed` and `exists` say whether it was and is a repository.
    """

    number: int
    control: str
    top: str
    name: str
    existed: bool
    exists: bool

    @property
    def rules(self) -> UnitRules:
        """Those of its version control system."""
        return RULES[self.name]

    @property
    def shown(self) -> str:
        """Its own folder as it is told of: the project itself may be a bare one."""
        return self.control or "."

    @property
    def prefix(self) -> str:
        """What the paths of its own folder begin with."""
        return f"{self.control}/" if self.control else ""

    def inside(self, path: str) -> str:
        """A path of its own folder, relative to that."""
        return path[len(self.prefix) :]


class Units:
    """Finds the repository whose own folder a path lies in, and judges changes there."""

    def __init__(self, record: Record, changes: Iterable[Change], names: NameJudge) -> None:
        self.states = record.states
        self.changed: Mapping[str, Change] = {change.path: change for change in changes}
        self.names = names
        self.units: dict[str, Unit] = {}
        self._of: dict[str, Unit | None] = {"": None}
        self._heads = self._folders_with_head()
        self._odd = disguised_repositories.find_made(record, self.changed, frozenset(RULES))
        self._heads |= self._odd
        self._of_top = self._unit("", "", "") if "" in self._heads else None

    def _folders_with_head(self) -> set[str]:
        """Folders that may be repositories without a working tree, before or after the run."""
        paths = [path for path in self.states if path.endswith("HEAD")]
        paths += [path for path in self.changed if path.endswith("HEAD")]
        return {split(path)[0] for path in paths if split(path)[1] == "HEAD"}

    def of(self, path: str) -> Unit | None:
        """The outermost repository in whose own folder a path lies, or that it itself is."""
        known = self._of.get(path, self)
        if not isinstance(known, Units):
            return known
        folder, name = split(path)
        unit = self.of(folder)
        if unit is None and (name in RULES or path in self._heads):
            unit = self._unit(path, folder, name)
        if unit is None and not folder:
            unit = self._top(name)
        self._of[path] = unit
        return unit

    def _top(self, name: str) -> Unit | None:
        """The project itself as a bare repository, to which only what git has there belongs."""
        unit = self._of_top
        if unit is None or not (unit.rules.known.match(name) or unit.rules.never.match(name)):
            return None
        return unit

    def _unit(self, path: str, folder: str, name: str) -> Unit | None:
        is_own = name in RULES
        rules = RULES[name if is_own else BARE]
        prefix = f"{path}/" if path else ""
        existed = rules.marks(lambda mark: prefix + mark in self.states)
        exists = path in self._odd or rules.marks(lambda mark: self.exists(prefix + mark))
        if not is_own and not existed and not exists:
            return None
        unit = Unit(
            len(self.units) + 1,
            path,
            folder if is_own else path,
            name if is_own else BARE,
            existed,
            exists,
        )
        self.units[path] = unit
        return unit

    def exists(self, path: str) -> bool:
        """Whether the run left something at a path."""
        change = self.changed.get(path)
        return path in self.states if change is None else change.change != "deleted"

    def inside(self, unit: Unit, path: str) -> str:
        """A path of its own folder, relative to that; in a submodule's, relative to this.

        Only a submodule's that was there before is one: a new one says what programs obey.
        """
        inside = unit.inside(path)
        while inside.startswith("modules/"):
            parts = inside.split("/")
            tops = ("/".join(parts[:end]) for end in range(2, len(parts)))
            above = path[: len(path) - len(inside)]
            top = next((top for top in tops if self._stays_repository(above + top)), "")
            if not top:
                break
            inside = inside[len(top) + 1 :]
        return inside

    def _stays_repository(self, folder: str) -> bool:
        marks = (f"{folder}/HEAD", f"{folder}/objects")
        return all(mark in self.states and self.exists(mark) for mark in marks)

    def was_led_on(self, unit: Unit) -> bool:
        """Whether the run made a file or link that leads to a repository elsewhere."""
        change = self.changed.get(unit.control)
        return change is not None and change.change == "created" and change.kind != "folder"

    def phase(self, unit: Unit, path: str) -> int:
        """When a path is put into place, among those of its repository."""
        return unit.rules.phase(self.inside(unit, path))

    def is_litter(self, unit: Unit, change: Change) -> bool:
        """Whether a change is to be forgotten: locks that nobody holds, times of what stays."""
        inside = self.inside(unit, change.path)
        if change.change == "times":
            return bool(inside) and self.is_control(unit, change.path)
        is_left = change.change != "deleted" and change.kind != "folder"
        return is_left and bool(unit.rules.litter.match(inside))

    def judge(self, unit: Unit, change: Change, consents: bool) -> LeftOut | None:
        """Why a change to a repository's own folder is left out; folded by what it belongs to.

        With a person's consent only what is never committed is.
        """
        inside = self.inside(unit, change.path)
        if change.change == "times" or (change.kind == "folder" and change.change == "mode"):
            return None
        if not inside:
            return self._judge_itself(unit, change)
        if unit.existed and not unit.exists:
            return LeftOut(unit.shown, "a repository is deleted by a person only", "kept")
        return self._judge_inside(unit, change, inside, consents)

    def _judge_inside(
        self, unit: Unit, change: Change, inside: str, consents: bool
    ) -> LeftOut | None:
        folded = change.path[: len(change.path) - len(inside)] + _fold(inside)
        if not unit.existed and not consents:
            why = (unit.shown, "a new repository waits for a person", "held")
        elif self.is_control(unit, change.path):
            kind = "kept" if change.change == "deleted" else "never"
            why = (folded, "it says what the repository's programs run or read", kind)
        elif change.kind == "link":
            why = (change.path, "no link is made in a repository's own folder", "refused")
        elif change.change == "modified" and unit.rules.fixed.match(inside):
            why = (change.path, "what a repository holds does not change in place", "refused")
        elif not consents and not unit.rules.known.match(inside):
            why = (folded, "it is not known what obeys it", "held")
        else:
            return None
        return LeftOut(*why)

    def _judge_itself(self, unit: Unit, change: Change) -> LeftOut | None:
        """Of the folder itself, which may be a file that leads to a repository elsewhere."""
        before = change.before
        was_folder = before is None or stat.S_ISDIR(before.mode)
        if change.kind == "folder" and was_folder:
            return None
        kind = "kept" if change.change == "deleted" else "never"
        return LeftOut(change.path, "it leads to a repository, whose programs are obeyed", kind)

    def is_control(self, unit: Unit, path: str) -> bool:
        """Whether a path of a repository's own folder is never committed."""
        inside = self.inside(unit, path)
        worktree = _worktree(inside)
        above = path[: len(path) - len(inside)]
        if worktree and f"{above}{worktree}/HEAD" not in self.states:
            return True  # a new one, which leads here and is led to
        return bool(unit.rules.never.match(inside) or self.names.judge_control(inside, unit.name))

    def why_not_finished(self, unit: Unit) -> str:
        """The operation that a run left in progress, or changed, in a repository."""
        prefix = unit.prefix
        for path, change in self.changed.items():
            if not path.startswith(prefix) or change.change == "times":
                continue
            inside = self.inside(unit, path)
            found = unit.rules.ongoing.match(inside)
            above = path[: len(path) - len(inside)]
            if found and self.exists(above + found[0].removesuffix("/")):
                return found[0].removesuffix("/")
        return ""


def _worktree(inside: str) -> str:
    parts = inside.split("/")
    return "/".join(parts[:2]) if parts[0] == "worktrees" and len(parts) > 1 else ""


def _fold(inside: str) -> str:
    """What a control path is told as: `hooks` for all hooks."""
    return _worktree(inside) or inside.split("/", 1)[0]
