"""Applying a plan: contents beside their targets, then all steps; or nothing of it."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from executor.project import steps
from executor.project.arrangement import Arrangement, arrange
from executor.project.durability import sync
from executor.project.journal import Journal
from executor.project.manifest import LeftOut
from executor.project.operations import MOVED_ON, Operation, execute, is_as_expected
from executor.project.outcome import CommitError
from executor.project.plan import Plan
from executor.project.preparing import Preparing
from executor.project.record import State, is_below
from executor.project.taking_away import remove
from executor.project.tree import Tree, split
from executor.project.walking import FOLDER_FLAGS


class Applied(NamedTuple):
    """Whether anything was applied, and what was not since someone else had changed it."""

    is_done: bool
    left_out: Sequence[LeftOut]


def apply(plan: Plan, contents: int, journals: Path, *, all_or_nothing: bool) -> Applied:
    """Bring the changes of a plan into the project; what someone changed since is left, and told.

    With `all_or_nothing` any such conflict leaves everything as it was.

    Raises:
        CommitError: the project can't be written. Nothing is applied then.
    """
    token = secrets.token_hex(8)
    arrangement = arrange(plan, token)
    if not arrangement.operations:
        return Applied(True, ())
    journal = Journal(journals / f"{token}.jsonl")
    top = os.open(plan.project, FOLDER_FLAGS)
    try:
        with Tree(top) as project:
            applying = _Applying(arrangement, project, journal)
            with Tree(contents) as source:
                preparing = Preparing(plan, project, source)
                conflicts = applying.prepare(
                    lambda: preparing.prepare(arrangement.preparations), all_or_nothing
                )
            if conflicts and all_or_nothing:
                return Applied(False, conflicts)
            left_out = _complete(applying.operations, applying.skipped, project, journal)
            return Applied(True, [*conflicts, *left_out])
    finally:
        os.close(top)


class _Applying:
    """Steps that are taken back until all of them are prepared, and completed from then on."""

    def __init__(self, arrangement: Arrangement, project: Tree, journal: Journal) -> None:
        self.operations = arrangement.operations
        self.moved = arrangement.moved
        self.project = project
        self.journal = journal
        self.skipped: frozenset[int] = frozenset()

    def prepare(self, write: Callable[[], None], all_or_nothing: bool) -> Sequence[LeftOut]:
        """Write contents; the conflicts that came meanwhile, for which all may be taken back.

        Raises:
            CommitError: the project can't be written. What was prepared is taken back.
        """
        try:
            self.journal.begin(self.operations)
            steps.step()
            write()
            conflicts, self.skipped = _look_again(self.operations, self.moved, self.project)
            if conflicts and all_or_nothing:
                _take_back(self.operations, self.project)
                self.journal.end()
            else:
                # A start after a crash completes it by what was prepared, which then is whole.
                sync(self.project.top)
                steps.step()
                self.journal.ready(self.skipped)
        except OSError as error:
            _take_back(self.operations, self.project)
            with contextlib.suppress(OSError):
                self.journal.end()
            raise _cannot_write(error) from error
        return conflicts


def _cannot_write(error: OSError) -> CommitError:
    if isinstance(error, CommitError):
        return error
    why = os.strerror(error.errno) if error.errno else str(error)
    return CommitError(
        f"the project can't be written ({why}); nothing of the run's changes is applied",
        "see to the room and the permissions in the project's folder, and run it again",
    )


def recover(project: Path, journals: Path) -> None:
    """Complete or take back what commits left that died.

    Raises:
        OSError: the project can't be written.
    """
    try:
        found = sorted(journals.glob("*.jsonl"))
        top = os.open(project, FOLDER_FLAGS)
    except OSError:  # the project is gone: there is nothing to complete
        return
    try:
        for path in found:
            with Tree(top) as tree:
                journal = Journal(path)
                entry = journal.read()
                if entry.is_ready:
                    _complete(entry.operations, entry.left_out, tree, journal)
                else:
                    _take_back(entry.operations, tree)
                    journal.end()
    finally:
        os.close(top)


def _complete(
    operations: Sequence[Operation], skipped: frozenset[int], project: Tree, journal: Journal
) -> Sequence[LeftOut]:
    _take_back([each for at, each in enumerate(operations) if at in skipped], project)
    left_out = []
    for at, operation in enumerate(operations):
        if at in skipped:
            continue
        steps.step()
        left = execute(operation, project)
        if left is not None:
            left_out.append(left)
            if operation.source:
                left_out.append(LeftOut(operation.source, left.reason, left.kind))
            _take_back([operation], project)
    steps.step()
    if not journal.is_on(os.fstat(project.top).st_dev):  # else the disk keeps their order
        sync(project.top)
    journal.end()
    return left_out


def _look_again(
    operations: Sequence[Operation], moved: Mapping[str, State], project: Tree
) -> tuple[Sequence[LeftOut], frozenset[int]]:
    """What changed while contents were prepared; the steps to leave out for it.

    A repository's steps are all left out for one of them.
    """

    def is_still(path: str, expected: State | None) -> bool:
        return is_as_expected(project.info(path), expected)

    others = {path for path, was in moved.items() if not is_still(path, was)}
    changed, tops = set[int](), set[str]()
    for at, each in enumerate(operations):
        if each.kind == "move":
            tops.add(each.path)
            below = f"{each.source}/"
            is_ready = is_still(each.source, each.expected) and is_still(each.path, None)
            is_ready = is_ready and not any(path.startswith(below) for path in others)
        elif each.kind == "attributes" and (each.expected is None or is_below(each.path, tops)):
            is_ready = True  # what is moved is not there yet
        else:
            is_ready = is_still(each.path, each.expected)
        if not is_ready:
            changed.add(at)
    stays = {operations[at].path for at in changed if operations[at].kind == "move"}
    changed |= {at for at, each in enumerate(operations) if stays and is_below(each.path, stays)}
    # What belongs to a repository's own folder bears its number, its working tree the opposite.
    units = {operations[at].unit for at in changed if operations[at].unit > 0}
    skipped = changed | {at for at, each in enumerate(operations) if abs(each.unit) in units}
    paths = [p for at in sorted(skipped) for p in (operations[at].path, operations[at].source) if p]
    conflicts = [LeftOut(path, MOVED_ON, "conflict") for path in dict.fromkeys(paths)]
    return conflicts, frozenset(skipped)


def _take_back(operations: Sequence[Operation], project: Tree) -> None:
    """Remove what was prepared."""
    for operation in operations:
        if operation.kind != "put":
            continue
        folder, _ = split(operation.path)
        with contextlib.suppress(OSError):
            remove(operation.temporary, project.folder(folder))
