"""The steps of a plan, in their order, and where contents are prepared for them."""

from __future__ import annotations

import os
import stat

from executor.project.apply.operations import Operation, expect
from executor.project.plan.current_state import SPECIAL_BITS
from executor.project.plan.plan import Plan
from executor.project.rules.permission import is_set_in_place
from executor.project.store.manifest import Change
from executor.project.view.record import is_below
from executor.project.view.tree import split


class Arrangement:
    """All that a commit does: contents are written to places of the project, then come the steps.

    What is in a new folder is prepared within that, and put in place with it.
    """

    def __init__(self, plan: Plan, token: str) -> None:
        """Put a plan in order; `token`, which nobody can guess, names what is temporary."""
        self.preparations: list[tuple[str, Change]] = []
        self._plan = plan
        self._token = token
        self._puts: list[Operation] = []
        self._deletions: list[Operation] = []
        self._attributes: dict[str, Operation] = {}
        self._touched: set[str] = set()  # folders whose entries change
        self._replaced: set[str] = set()  # folders that give way to something else
        top = place = ""
        for change in plan.changes:
            if top and change.path.startswith(top):
                self.preparations.append((place + change.path[len(top) :], change))
                continue
            made = self._arrange(change)
            if made:
                top, place = f"{change.path}/", f"{made}/"
        self._keep_times_of_folders()

    @property
    def operations(self) -> tuple[Operation, ...]:
        """All steps. Changes come folders first, and deletions the other way round."""
        takes = [
            Operation("take", taking.carried.control, "repository", unit=number, taking=taking)
            for number, taking in self._plan.takings
        ]
        first: list[Operation] = []
        last: list[Operation] = []
        for each in reversed(self._deletions):
            (first if is_below(each.path, self._replaced) else last).append(each)
        # Setting the times of one folder changes no other's: any order does.
        return (*takes, *first, *self._puts, *last, *self._attributes.values())

    def _arrange(self, change: Change) -> str:
        """Arrange one change; where its new folder is prepared, if it makes one."""
        path, info = change.path, self._plan.present[change.path]
        unit, expected = self._plan.units.get(path, 0), expect(info)
        folder, _ = split(path)
        if is_set_in_place(change, info):
            self._set_attributes(change, info)
            return ""
        self._touched.add(folder)
        if change.change == "deleted":
            self._deletions.append(Operation("delete", path, change.kind, expected, unit=unit))
            return ""
        if change.kind != "folder" and change.before and stat.S_ISDIR(change.before.mode):
            self._replaced.add(path)
            self._deletions.append(Operation("delete", path, "folder", expected, unit=unit))
        temporary = f".ctxmode-{self._token}-{len(self._puts)}"
        place = f"{folder}/{temporary}" if folder else temporary
        self.preparations.append((place, change))
        self._puts.append(Operation("put", path, change.kind, expected, temporary, unit=unit))
        return place if change.kind == "folder" else ""

    def _set_attributes(self, change: Change, info: os.stat_result | None) -> None:
        is_folder = info is not None and stat.S_ISDIR(info.st_mode)
        special = info.st_mode & SPECIAL_BITS if info and is_folder else 0
        is_link = change.kind == "link"
        self._attributes[change.path] = Operation(
            "attributes",
            change.path,
            change.kind,
            expect(info, at_any_time=True),
            mode=-1 if is_link else change.mode | special,
            mtime_ns=change.mtime_ns,
            xattrs=None if is_link else change.xattrs,
            unit=self._plan.units.get(change.path, 0),
        )

    def _keep_times_of_folders(self) -> None:
        """Have folders whose entries change show the times that the view's had."""
        if self._plan.top_mtime_ns < 0:
            return
        gone = {each.path for each in self._deletions}
        for path in self._touched - gone - self._attributes.keys():
            was = self._plan.states.get(path)
            if was or not path:
                mtime_ns = was.mtime_ns if was else self._plan.top_mtime_ns
                self._attributes[path] = Operation("attributes", path, "folder", mtime_ns=mtime_ns)
