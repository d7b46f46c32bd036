"""Applying a run's changes to the project: the only way in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from executor.model import LeftOut
from executor.project.git.differences import find_renames
from executor.project.git.repository_export import Reader
from executor.project.plan.conflicts import CommitRules, Plan
from executor.project.plan.planning import plan
from executor.project.rules.names import ObeyedNames
from executor.project.store.manifest import (
    PREVENTING,
    Change,
    ChangeSet,
    Commit,
    CommitError,
    list_changes,
)
from executor.project.store.store import ChangeStore
from executor.project.view.record import is_below

ATTRIBUTES = ("mode", "times")  # changes of a folder that do not affect its contents

__all__ = ["Change", "Commit", "CommitError", "LeftOut", "commit_changes"]


def commit_changes(  # noqa: PLR0913 - all of it describes one run
    changes: ChangeSet,
    names: ObeyedNames,
    store: ChangeStore,
    *,
    label: str,
    stage: bool = False,
    shown: Sequence[str] = (),
    read: Reader,
) -> Commit:
    """Apply a run's changes, whose processes have all ended; store those held for review.

    With `stage` nothing is applied and everything is stored. `label` names the run. `shown` are
    absolute folders that links may point to, besides the system's. `read` runs git in a sandbox to
    read the run's repositories.

    Raises:
        CommitError: the project can't be written, is busy, or there are too many changes. Then
            none of them is applied.
    """
    if not changes.changes:
        return Commit((), changes.refused, "")
    with store.committing(changes.record.project):
        rules = CommitRules(names, shown)
        planned = plan(changes, rules, store.brought(), read)
        if stage:
            takings = (*(taking for _, taking in planned.takings), *planned.kept_takings)
            waiting = replace(changes, repositories=takings)
            name = store.keep(waiting, changes.refused, label=label, staged=True)
            return Commit((), changes.refused, name)
        return _commit(changes, planned, store, label)


def _commit(changes: ChangeSet, planned: Plan, store: ChangeStore, label: str) -> Commit:
    """Store held changes, then apply the rest; also store those that turn out as conflicts."""

    def keep(kept: tuple[Change, ...], left_out: Sequence[LeftOut]) -> str:
        missed = {left.path for left in left_out if left.kind == "repository"}
        failed = [one for _, one in planned.takings if (one.carried.control or ".") in missed]
        takings = (*planned.kept_takings, *failed)
        if not kept and not takings:
            return ""
        waiting = replace(changes, changes=kept, repositories=takings)
        return store.keep(waiting, left_out, label=label, staged=False)

    name = keep(planned.kept, planned.left_out)
    try:
        renames = find_renames(planned.changes, planned.project, changes.contents)
        _, late = store.bring_in(changes, planned, all_or_nothing=False)
    except BaseException:
        if name:
            store.drop(name)
        raise
    left_out = (*planned.left_out, *late)
    missed = {left.path for left in late}
    # If only a folder's mode could not be set, its contents were applied.
    whole = {c.path for c in planned.changes if c.path in missed and c.change not in ATTRIBUTES}
    not_there = {c.path for c in planned.changes if c.path in missed or is_below(c.path, whole)}
    if any(left.kind in PREVENTING for left in late):
        waiting = (*planned.kept, *(c for c in planned.changes if c.path in not_there))
        name, earlier = keep(waiting, left_out), name
        if earlier:
            store.drop(earlier)
    applied = tuple(each for each in planned.changes if each.path not in not_there)
    return Commit(list_changes(applied, renames), left_out, name)
