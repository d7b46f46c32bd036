"""The steps of a plan, in their order, and where contents are prepared for them."""

from __future__ import annotations

import stat
from functools import partial

from executor.project.apply.operations import Operation, expect
from executor.project.plan.conflicts import SPECIAL_BITS, is_set_in_place
from executor.project.plan.plan import Plan
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
            elif made := self._arrange(change):
                top, place = f"{change.path}/", f"{made}/"
        if plan.top_mtime_ns >= 0:
            self._keep_times_of_folders()

    @property
    def operations(self) -> tuple[Operation, ...]:
        """All steps. Changes come folders first, and deletions the other way round.

        Repositories are taken before what is in their working trees, new ones after it.
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
        # Setting the times of one folder changes no other's: any order does.
        return (*takes, *first, *self._puts, *last, *made, *self._attributes.values())

    def _arrange(self, change: Change) -> str:
        """Arrange one change; where its new folder is prepared, if it makes one."""
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
        """Have folders whose entries change show the times that the view's had."""
        gone = {each.path for each in self._deletions}
        for path in self._touched - gone - self._attributes.keys():
            was = self._plan.states.get(path)
            if was or not path:
                mtime_ns = was.mtime_ns if was else self._plan.top_mtime_ns
                self._attributes[path] = Operation("attributes", path, "folder", mtime_ns=mtime_ns)
