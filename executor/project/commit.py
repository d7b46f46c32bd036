"""Bringing what a run left into the project: the only way in."""

from __future__ import annotations

from collections.abc import Sequence

from executor.project.changes import Change, ChangeSet, LeftOut
from executor.project.judging import NameJudge
from executor.project.outcome import Commit, CommitError
from executor.project.store import Store

__all__ = ["Change", "Commit", "CommitError", "LeftOut", "commit"]


def commit(
    changes: ChangeSet,
    names: NameJudge,
    store: Store,
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
    raise NotImplementedError
