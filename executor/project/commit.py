"""Bringing what a run left into the project: the only way in."""

from __future__ import annotations

from collections.abc import Sequence

from executor.project.plan.plan import Plan
from executor.project.plan.planning import plan
from executor.project.rules.name_verdicts import NameJudge
from executor.project.rules.rules import CommitRules
from executor.project.store.decision import with_moves
from executor.project.store.manifest import PREVENTED, Change, ChangeSet, LeftOut
from executor.project.store.outcome import Commit, CommitError, list_changes
from executor.project.store.store import ChangeStore
from executor.project.view.record import is_below

ATTRIBUTES = ("mode", "times")  # changes of a folder that leave what is in it as it is

__all__ = ["Change", "Commit", "CommitError", "LeftOut", "commit"]


def commit(  # noqa: PLR0913 - all of it is what one run says of itself
    changes: ChangeSet,
    names: NameJudge,
    store: ChangeStore,
    *,
    label: str,
    stage: bool = False,
    shown: Sequence[str] = (),
) -> Commit:
    """Apply a run's changes, all processes of which are dead; keep what is for a person to decide.

    With `stage` nothing is applied and all of it is kept. `label` says what ran. `shown` are
    absolute folders, besides the system's, that links may lead to.

    Raises:
        CommitError: the project can't be written, is busy, or there is too much. Nothing of the
            changes is applied then.
    """
    if not changes.changes:
        return Commit((), changes.refused, "")
    with store.committing(changes.record.project):
        if stage:
            name = store.keep(changes, changes.changes, changes.refused, label, staged=True)
            return Commit((), changes.refused, name)
        ours = store.ours(changes.record.project)
        return _commit(changes, plan(changes, CommitRules(names, shown), ours), store, label)


def _commit(changes: ChangeSet, planned: Plan, store: ChangeStore, label: str) -> Commit:
    """Keep what waits, then apply the rest; what came between is kept, too."""
    name = _keep(changes, planned.kept, planned.left_out, store, label)
    try:
        pairs, planned = with_moves(changes, planned)
        _, late = store.bring_in(changes, planned, all_or_nothing=False)
    except BaseException:
        if name:
            store.drop(name)
        raise
    left_out = (*planned.left_out, *late)
    missed = {left.path for left in late}
    # Where only the mode of a folder could not be set, what is in it came.
    whole = {c.path for c in planned.changes if c.path in missed and c.change not in ATTRIBUTES}
    not_there = {c.path for c in planned.changes if c.path in missed or is_below(c.path, whole)}
    if any(left.kind in PREVENTED for left in late):
        waiting = (*planned.kept, *(c for c in planned.changes if c.path in not_there))
        name, earlier = _keep(changes, waiting, left_out, store, label), name
        if earlier:
            store.drop(earlier)
    applied = tuple(each for each in planned.changes if each.path not in not_there)
    return Commit(list_changes(applied, pairs), left_out, name)


def _keep(
    changes: ChangeSet,
    kept: Sequence[Change],
    left_out: Sequence[LeftOut],
    store: ChangeStore,
    label: str,
) -> str:
    """The id of what is kept, empty where nothing is."""
    return store.keep(changes, kept, left_out, label, staged=False) if kept else ""
