"""The one way by which what a run changed reaches the project: a commit, when the run is dead."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from executor.artifacts import readable
from executor.errors import SandboxError
from executor.model import ChangedFile, NotCommitted, Result
from executor.project import record
from executor.project.changes import Change, ChangeSet, of_upper
from executor.project.commit import Commit, CommitError, commit
from executor.project.obeyed import in_project
from executor.project_files import guarded

if TYPE_CHECKING:
    from executor.profile import Profile
    from executor.project.names import Names
    from executor.project.record import Record
    from executor.project.store import Store
    from executor.project_search import ProjectSearch
    from executor.work_copy import WorkCopy

LISTED_MAX = 500


@dataclass(frozen=True, slots=True)
class Door:
    """What commits need to know. `shown` are folders of the host that links may lead to.

    `load_names` gives the table of names, which takes time to load.
    """

    search: ProjectSearch
    load_names: Callable[[], Names]
    store: Store
    shown: Sequence[str] = ()

    def record(self, profile: Profile) -> Record:
        """The project as it is when a view of it begins.

        Raises:
            RequestError: it is too large.
            SandboxError: it can't be read.
        """
        try:
            return record.take(self.search.project, guarded(self.search, profile.sockets).paths)
        except OSError as error:
            raise SandboxError(f"the project can't be read: {error}") from error

    def commit_upper(self, upper: int, before: Record, label: str, *, stage: bool) -> Commit:
        """Commit what an overlay's upper layer holds; closes the descriptor.

        Raises:
            SandboxError: nothing of it could be committed; it says why.
        """
        try:
            return self.commit(of_upper(upper, before), label, stage=stage)
        except (CommitError, OSError) as error:
            raise SandboxError(_nothing(error)) from error
        finally:
            os.close(upper)

    def commit_copy(self, copy: WorkCopy, label: str, *, stage: bool) -> Commit:
        """Commit what a run has changed in a copy of the project.

        Raises:
            SandboxError: nothing of it could be committed; it says why.
        """
        try:
            changes = copy.changes()
        except (CommitError, OSError) as error:
            raise SandboxError(_nothing(error)) from error
        try:
            return self.commit(changes, label, stage=stage)
        finally:
            os.close(changes.contents)

    def commit(self, changes: ChangeSet, label: str, *, stage: bool) -> Commit:
        """Commit a change set.

        Raises:
            SandboxError: nothing of it could be committed; it says why.
        """
        try:
            names = in_project(self.load_names(), changes.record)
            done = commit(changes, names, self.store, label=label, stage=stage, shown=self.shown)
        except (CommitError, OSError) as error:
            raise SandboxError(_nothing(error)) from error
        return replace(done, changed=changes.changes) if stage else done


def _nothing(error: Exception) -> str:
    return f"nothing of what the run changed was committed: {error}"


def with_commit(result: Result, done: Commit, *, stage: bool) -> Result:
    """The result with what was committed, and what was not; names become text."""
    changed = [_changed_file(change) for change in done.changed if change.change != "times"]
    left = [NotCommitted(readable(n.path), n.kind, readable(n.reason)) for n in done.left_out]
    return replace(
        result,
        changed_files=tuple(changed[:LISTED_MAX]),
        changed_files_omitted=max(0, len(changed) - LISTED_MAX),
        not_committed=tuple(left[:LISTED_MAX]),
        changes_id=done.id or None,
        persists=not stage,
    )


def _changed_file(change: Change) -> ChangedFile:
    is_folder, is_gone = change.kind == "folder", change.change == "deleted"
    return ChangedFile(
        readable(change.path) + "/" * is_folder,
        change.change,
        None if is_folder or is_gone else change.size,
        readable(change.source),
    )
