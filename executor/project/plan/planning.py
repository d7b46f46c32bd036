"""Deciding for each change whether it is applied, and why not, before anything is changed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace

from executor.model import LeftOut
from executor.project.git.history import OWN, BroughtObjects, History, Repositories, Repository
from executor.project.git.repository_decisions import LEADS_ON, OutcomeJudge, RepositoryOutcome
from executor.project.git.repository_export import Reader
from executor.project.git.repository_import import Taking
from executor.project.plan.conflicts import (
    CommitRules,
    Environments,
    Links,
    Obstacles,
    Plan,
    is_folder,
    replaces_folder,
)
from executor.project.rules.named_files import NamedFiles
from executor.project.rules.names import ChangeVerdict, NameRow, control_folder
from executor.project.store.manifest import PREVENTED, Change, ChangeSet
from executor.project.view.record import is_below
from executor.project.view.tree import Tree, open_tree, split, walk

STAND_IN = "user.ctxmode.stand-in"  # as executor/spawner/stand_ins.py marks them
DECIDED_WITH = ("held", *PREVENTED)  # reported with the repository, if all of it is held
STAYS = "the run replaced a folder that still has other files"


class Planning:
    """One walk through the changes, folders first."""

    def __init__(
        self,
        changes: ChangeSet,
        rules: CommitRules,
        trees: tuple[Tree, Tree, Tree],
        brought: BroughtObjects,
        read: Reader,
    ) -> None:
        """Decide on repositories. `trees` are the contents, the project, and this for git alone."""
        contents, self.project, aside = trees
        self.changes = changes
        self.rules = rules
        self.repositories = Repositories(changes.record, changes.changes)
        self.judge = OutcomeJudge(changes, self.repositories, aside, contents, read)
        self.outcomes = dict(self._decide_repositories())  # by the repositories' own folders
        after = {
            own: (one.after, head)
            for one in self.outcomes.values()
            if one.after is not None
            for own, head in one.heads.items()
        }
        self.history = History(changes.record, aside, contents, brought, after)
        self.obstacles = Obstacles(contents, self.project)
        self.environments = Environments(changes.record, changes.changes)
        made = [one.top for one in self.repositories.found.values() if not one.existed]
        self.named = NamedFiles(changes.record, made)
        self.present: dict[str, os.stat_result | None] = {}
        self.left: dict[str, LeftOut | None] = {}  # None: with its folder
        self.done = set[str]()  # the project has them already
        self.new_folders = set[str]()
        self._hidden: dict[str, bool] = {}

    def _decide_repositories(self) -> Iterator[tuple[str, RepositoryOutcome]]:
        known = {taking.carried.control: taking for taking in self.changes.repositories}
        for one in [*self.repositories.found.values()]:
            if one.control not in known:
                yield one.control, self.judge.decide(one)
        for control, taking in known.items():
            yield control, self.judge.decide_kept(self.repositories.add(control), taking)

    def plan(self) -> Plan:
        """Make the whole plan."""
        links = self._links()
        for change in self.changes.changes:
            self._decide(change, links)
        # In this order: each sees what the earlier ones left, and the last one finds the folders
        # that were emptied by it. A folder judged earlier would be made, and be empty.
        self._leave_replaced_folders()
        self._leave_led_working_trees()
        self._leave_prevented_repositories()
        self._leave_hollow_folders()
        if self.rules.consent is None:
            self.environments.leave_torn(self.changes.changes, self.left)
        return self._result()

    def _result(self) -> Plan:
        all_changes = self.changes.changes
        applied = tuple(
            self._without_obeyed_links(c)
            for c in all_changes
            if c.path not in self.left and c.path not in self.done
        )
        reported = dict.fromkeys(left for left in self.left.values() if left is not None)
        reported |= dict.fromkeys(left for one in self.outcomes.values() for left in one.others)
        waits = tuple(c for c in all_changes if c.path in self.left and self._may_wait(c))
        record = self.changes.record
        top = os.fstat(self.changes.contents).st_mtime_ns
        return Plan(
            record.project,
            applied,
            {change.path: self.present[change.path] for change in applied},
            record.states,
            -1 if self.rules.consent else top,
            (*self.changes.refused, *reported),
            waits,
            self._number_working_trees(applied),
            tuple(self._takings(is_left=False)),
            tuple(taking for _, taking in self._takings(is_left=True)),
        )

    def _is_own(self, change: Change) -> bool:
        """Return whether a change is in a repository's own folder, from which nothing is copied."""
        repository = self.repositories.of(change.path)
        return repository is not None and not self.judge.is_ended(repository, change)

    def _takings(self, *, is_left: bool) -> Iterator[tuple[int, Taking]]:
        for outcome in self.outcomes.values():
            taking = outcome.taking
            if taking is not None and not taking.is_empty and is_left is (outcome.left is not None):
                yield outcome.repository.number, taking

    def _without_obeyed_links(self, change: Change) -> Change:
        """Return the change without hard links if a name is loaded: one write changes all links."""
        if not change.group:
            return change
        paths = filter(None, (change.path, change.source))
        if any(OWN in path.split("/") or self._judge(path) for path in paths):
            return replace(change, source="", group=0)
        return change

    def _number_working_trees(self, applied: Sequence[Change]) -> dict[str, int]:
        """Return, by path, the number of the repository whose working tree has it."""
        found = self.outcomes.values()
        tops = {one.top: one.repository.number for one in found if one.taking is not None}
        numbers = {}
        for path in (change.path for change in applied) if tops else ():
            folder = path
            while folder and folder not in tops:
                folder, _ = split(folder)
            numbers[path] = tops.get(folder, 0)
        return numbers

    def _may_wait(self, change: Change) -> bool:
        """Return whether the user may still decide on it."""
        left = self.left[change.path]
        if self._is_own(change):
            return False
        return left is None or left.kind not in ("refused", "kept")

    def _links(self) -> Links:
        made = {c.path: c for c in self.changes.changes}

        def link_at(path: str) -> str | None:
            change = made.get(path)
            if change is not None and change.change != "times":
                return change.target if change.change != "deleted" and change.target else None
            try:
                return self.project.target(path)
            except OSError:
                return None

        return Links(str(self.changes.record.project), link_at, self.rules.shown)

    def _decide(self, change: Change, links: Links) -> None:
        path = change.path
        folder, _ = split(path)
        info = None if folder in self.new_folders else self.project.info(path)
        # Taken before the decision: applying compares it again, and stops if the host was faster.
        self.present[path] = info
        if self.left.get(folder, self) is None or self._is_left_folder(folder):
            self.left[path] = None
            return
        repository = self.repositories.of(path)
        if repository is not None and not self.judge.is_ended(repository, change):
            self._decide_own(change, repository)
            return
        # The first reason is the one that is told. What the view hid comes first: no later reason
        # may say anything about such a file. Only what no rule leaves out is compared with the
        # host's files, so that consent to a held change can still meet a conflict.
        left = (
            self._why_unseen(change)
            or (self._why_by_name(change) if repository is None else None)
            or self._why_by_link(change, links)
            or self._why_conflict(change, info)
            or self._why_closed(change, info)
        )
        if left is not None:
            self.left[path] = left
        elif _makes_folder(change, info) and path not in self.done:
            self.new_folders.add(path)

    def _is_left_folder(self, folder: str) -> bool:
        """Return whether a folder is not made, so that its contents can't be."""
        return folder in self.left and not is_folder(self.present[folder])

    def _why_unseen(self, change: Change) -> LeftOut | None:
        if any(name == STAND_IN for name, _ in change.xattrs):
            return LeftOut(change.path, "a stand-in for a file that the view hides", "refused")
        if not self.is_hidden(change.path):
            return None
        if change.change == "deleted":
            return LeftOut(change.path, "the view did not show it", "kept")
        if self._is_of_repository(change):
            return None
        return LeftOut(change.path, "the view hides the file that is there", "refused")

    def _is_of_repository(self, change: Change) -> bool:
        """Return whether git replaced a secret that it knows by another: none is lost."""
        is_file = change.kind == "file" and change.path in self.changes.record.states
        return is_file and self.history.was_known(change) and self.history.is_known(change.path)

    def is_hidden(self, path: str) -> bool:
        """Return whether the view did not show a path, or a folder that contains it."""
        known = self._hidden.get(path)
        if known is None:
            folder, _ = split(path)
            known = path in self.changes.record.hidden or bool(folder and self.is_hidden(folder))
            self._hidden[path] = known
        return known

    def _decide_own(self, change: Change, repository: Repository) -> None:
        """Decide on a change in a repository's own folder: not copied; reported if left out."""
        left = self.judge.judge(repository, change)
        if left is None:
            self.done.add(change.path)
        else:
            self.left[change.path] = left

    def _why_by_name(self, change: Change) -> LeftOut | None:
        if split(change.path)[1] == OWN:
            kind = "kept" if change.change == "deleted" else "never"
            return LeftOut(change.path, LEADS_ON, kind)
        if change.change == "times":
            return None
        row = self._judge(change.path, is_link=change.kind == "link")
        return self.by_row(change, row) if row else None

    def _judge(self, path: str, *, is_link: bool = False) -> NameRow | None:
        """Return a path's row in the table of names, or one for a file that a tool starts."""
        names = self.rules.names
        row = names.judge_link(path) if is_link else names.judge(path)
        row = row or self.environments.judge(path)
        if row is None and (why := self.named.why_named(path)):
            return NameRow(path, ChangeVerdict.HELD, why)
        return row

    def by_row(self, change: Change, row: NameRow) -> LeftOut | None:
        """Return how a row of the table applies to a change."""
        consent, is_never = self.rules.consent, row.verdict == "never"
        if consent is not None and (not is_never or change.path in consent[0]):
            return None
        if is_never:  # a version control system's folder is reported once
            path = control_folder(change.path) or change.path
            kind = "never" if self.repositories.is_there(path) else "kept"
            return LeftOut(path, row.why, kind)
        if change.kind == "folder":  # its contents are decided on instead
            return None
        is_gone, past = change.change == "deleted", self.history
        is_old = past.was_without(change.path) if is_gone else past.was_known(change)
        return None if is_old else LeftOut(change.path, row.why, "held")

    def _why_by_link(self, change: Change, links: Links) -> LeftOut | None:
        if change.kind != "link" or change.change in ("deleted", "times"):
            return None
        why = links.why_refused(change.path, change.target)
        return LeftOut(change.path, why, "refused") if why else None

    def _why_conflict(self, change: Change, info: os.stat_result | None) -> LeftOut | None:
        why = self.obstacles.find_conflict(
            change, info, is_in_new_folder=self._is_in_new_folder(change)
        )
        if why is None:
            self.done.add(change.path)
        elif not why and self._stays_inside(change):
            why = STAYS
        consent = self.rules.consent
        if consent is not None and change.path in consent[1] and not is_folder(info):
            return None
        return LeftOut(change.path, why, "conflict") if why else None

    def _why_closed(self, change: Change, info: os.stat_result | None) -> LeftOut | None:
        path = change.path
        if path in self.done or self._is_in_new_folder(change):
            return None
        why = self.obstacles.why_refused(change, info)
        if why and change.change == "times":  # times alone do not matter
            self.done.add(path)
            return None
        return LeftOut(path, why, "closed") if why else None

    def _is_in_new_folder(self, change: Change) -> bool:
        return split(change.path)[0] in self.new_folders

    def _stays_inside(self, change: Change) -> bool:
        """Return whether a folder can't be replaced by a file because some of its entries stay."""
        if not replaces_folder(change):
            return False
        goes = {c.path for c in self.changes.changes if c.change == "deleted"} - self.left.keys()
        found: list[str] = []
        for prefix, _, entries in walk(
            self.project.folder(change.path), lambda _: not found, found.append
        ):
            for entry in entries:
                path = f"{change.path}/{prefix}{entry.name}"
                if path not in goes or self.is_hidden(path) or self.rules.names.judge(path):
                    found.append(path)
        return bool(found)

    def _leave_replaced_folders(self) -> None:
        """Leave out a whole folder that was to be replaced, if it can't be."""
        replaced = ""
        for change in self.changes.changes:
            if replaces_folder(change):
                replaced = change.path
                if any(path.startswith(f"{replaced}/") for path in self.left):
                    self.left.setdefault(replaced, LeftOut(replaced, STAYS, "conflict"))
            elif replaced in self.left and change.path.startswith(f"{replaced}/"):
                self.left.setdefault(change.path, None)

    def _leave_led_working_trees(self) -> None:
        """Leave out new files next to a new `.git` that points to a repository and is left out.

        Files of a submodule or worktree would be in the way when the host creates it.
        """
        made = [c for c in self.changes.changes if c.change == "created"]
        gits = (c for c in made if c.kind != "folder" and c.path in self.left)
        led = {split(c.path)[0] for c in gits if split(c.path)[1] == OWN} - {""}
        for change in made if led else ():
            if is_below(change.path, led):
                self.left.setdefault(change.path, None)

    def _leave_prevented_repositories(self) -> None:
        """Leave out whole repositories that can't be taken, with their working trees' files."""
        for outcome in self.outcomes.values():
            if outcome.left is None:
                continue
            repository = outcome.repository
            self.left[repository.control] = outcome.left
            if not outcome.is_prevented or self.rules.consent is not None:
                continue
            prefix = f"{outcome.top}/" if outcome.top else ""
            for change in self.changes.changes:
                left = self.left.get(change.path)
                is_other = change.path != repository.control and change.path.startswith(prefix)
                if is_other and (left is None or left.kind in DECIDED_WITH):
                    self.left[change.path] = None

    def _leave_hollow_folders(self) -> None:
        """Leave out new folders that would be empty only because their contents are left out."""
        full, hollow = set(), set()
        for change in reversed(self.changes.changes):
            path, (folder, _) = change.path, split(change.path)
            if path in hollow and path not in full and path in self.new_folders:
                self.left.setdefault(path, None)
            if path in self.left and change.change != "deleted":
                hollow.add(folder)
            elif change.change != "deleted":
                full.add(folder)


def _makes_folder(change: Change, info: os.stat_result | None) -> bool:
    return change.kind == "folder" and change.change != "deleted" and not is_folder(info)


def plan(changes: ChangeSet, rules: CommitRules, brought: BroughtObjects, read: Reader) -> Plan:
    """Decide on every change. `read` reads repositories.

    Raises:
        OSError: the project or the contents can't be read.
    """
    with (
        Tree(changes.contents) as contents,
        open_tree(changes.record.project) as project,
        Tree(project.top) as aside,
    ):
        planning = Planning(changes, rules, (contents, project, aside), brought, read)
        try:
            return planning.plan()
        finally:
            planning.history.close()
