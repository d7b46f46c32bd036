"""The steps of a plan, in their order, and where contents are prepared for them."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from dataclasses import dataclass, field

from executor.project.apply.operations import Operation, at_any_time, expect
from executor.project.plan.current_state import SPECIAL_BITS
from executor.project.plan.plan import Plan
from executor.project.rules.permission import is_set_in_place
from executor.project.store.manifest import Change
from executor.project.view.record import EntryState, is_below
from executor.project.view.tree import in_tree_order, split


@dataclass(frozen=True, slots=True)
class Preparation:
    """A change whose content is written to `place`, a relative path, before anything else."""

    change: Change
    place: str


@dataclass(frozen=True, slots=True)
class Arrangement:
    """All that a commit does: preparations, then steps.

    `moved` is what has to be there, by former paths, of what is in folders that are moved.
    """

    preparations: tuple[Preparation, ...]
    operations: tuple[Operation, ...]
    moved: Mapping[str, EntryState] = field(default_factory=dict)


def arrange(plan: Plan, token: str) -> Arrangement:
    """Put what a plan needs in order; `token`, which nobody can guess, names what is temporary."""
    return _Arranging(plan, token).result()


class _Arranging:
    def __init__(self, plan: Plan, token: str) -> None:
        self.plan = plan
        self.token = token
        self.preparations: list[Preparation] = []
        self.puts: list[Operation] = []
        self.moves: list[Operation] = []
        self.moved: dict[str, EntryState] = {}
        self.tops = set(plan.moves)
        self.sources = set(plan.moves.values())
        self.made = {c.path: c.mtime_ns for c in plan.changes if _is_made(c)}
        self.deletions: list[Operation] = []
        self.attributes: dict[str, Operation] = {}
        self.touched: set[str] = set()
        self.new_top = self.new_place = ""
        self.replaced = {c.path for c in plan.changes if _replaces_a_folder(c)}

    def result(self) -> Arrangement:
        for change in self.plan.changes:
            if self.tops and self._is_moved(change):
                continue
            if self.new_top and change.path.startswith(self.new_top):
                place = self.new_place + change.path[len(self.new_top) :]
                self.preparations.append(Preparation(change, place))
            else:
                self._arrange(change)
        deepest_first = sorted(
            self.deletions, key=lambda each: in_tree_order(each.path), reverse=True
        )
        makes_way = [each for each in deepest_first if is_below(each.path, self.replaced)]
        others = [each for each in deepest_first if not is_below(each.path, self.replaced)]
        self._keep_times_of_folders()
        takes = [
            Operation(
                "take", taking.carried.control, "repository", temporary=str(number), unit=number
            )
            for number, taking in self.plan.takings
        ]
        # Setting the times of one folder changes no other's: any order does.
        steps = (*takes, *makes_way, *self.puts, *self.moves, *others, *self.attributes.values())
        return Arrangement(tuple(self.preparations), steps, self.moved)

    def _is_moved(self, change: Change) -> bool:
        """Whether a change is part of a move; then it is arranged."""
        path, present = change.path, self.plan.present
        if change.change == "deleted" and is_below(path, self.sources):
            was = expect(present[path])
            if was is not None and path not in self.sources:
                self.moved[path] = was
            return True
        top = _top_of(path, self.tops)
        if change.change != "created" or not top:
            return False
        source = self.plan.moves[top] + path[len(top) :]
        expected = expect(present[source])
        if path == top:
            self.touched |= {split(path)[0], split(source)[0]}
            unit = self._unit(path)
            self.moves.append(
                Operation("move", path, change.kind, expected, unit=unit, source=source)
            )
        if change.kind != "link" and expected and not _looks_as(change, expected):
            self._set_attributes(change, expected, 0)
        return True

    def _set_attributes(self, change: Change, expected: EntryState | None, special: int) -> None:
        self.attributes[change.path] = Operation(
            "attributes",
            change.path,
            change.kind,
            at_any_time(expected) if expected else None,
            mode=change.mode | special if change.kind != "link" else -1,
            mtime_ns=change.mtime_ns,
            xattrs=change.xattrs if change.kind != "link" else None,
            unit=self._unit(change.path),
        )

    def _arrange(self, change: Change) -> None:
        path, unit = change.path, self._unit(change.path)
        info = self.plan.present[path]
        expected = expect(info)
        folder, _ = split(path)
        if change.change == "deleted":
            self.touched.add(folder)
            self.deletions.append(Operation("delete", path, change.kind, expected, unit=unit))
            return
        is_folder_there = info is not None and stat.S_ISDIR(info.st_mode)
        if is_set_in_place(change, info):
            special = info.st_mode & SPECIAL_BITS if info and is_folder_there else 0
            self._set_attributes(change, expected, special)
            return
        self.touched.add(folder)
        temporary = f".ctxmode-{self.token}-{len(self.puts)}"
        place = f"{folder}/{temporary}" if folder else temporary
        self.preparations.append(Preparation(change, place))
        if path in self.replaced:
            self.deletions.append(Operation("delete", path, "folder", expected, unit=unit))
        self.puts.append(Operation("put", path, change.kind, expected, temporary, unit=unit))
        if change.kind == "folder":
            self.new_top, self.new_place = f"{path}/", f"{place}/"

    def _unit(self, path: str) -> int:
        return self.plan.units.get(path, 0)

    def _keep_times_of_folders(self) -> None:
        """Have folders whose entries change show the times that the view's had."""
        for path in self.touched - {each.path for each in self.deletions}:
            was = self.plan.states.get(path) if self.plan.top_mtime_ns >= 0 else None
            mtime_ns = was.mtime_ns if was else self.plan.top_mtime_ns if not path else -1
            if mtime_ns < 0 and self.tops:
                mtime_ns = self.made.get(path, -1)
            if path not in self.attributes and mtime_ns >= 0:
                self.attributes[path] = Operation("attributes", path, "folder", mtime_ns=mtime_ns)


def _replaces_a_folder(change: Change) -> bool:
    before = change.before
    is_other = change.change != "deleted" and change.kind != "folder"
    return is_other and before is not None and stat.S_ISDIR(before.mode)


def _is_made(change: Change) -> bool:
    return change.kind == "folder" and change.change in ("created", "modified")


def _top_of(path: str, tops: set[str]) -> str:
    """The path itself, or the folder in which it lies, of some; empty where it is below none."""
    while path and path not in tops:
        path, _ = split(path)
    return path


def _looks_as(change: Change, state: EntryState) -> bool:
    is_old = change.mtime_ns == state.mtime_ns and not change.xattrs
    return is_old and change.mode == stat.S_IMODE(state.mode)
