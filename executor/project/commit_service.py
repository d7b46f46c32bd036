"""The one way by which what a run changed reaches the project: a commit, when the run is dead."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from executor.model import ChangedFile, RequestError, Result, SandboxError, readable
from executor.project.view import record

# What commits takes tens of milliseconds to load, and most runs commit nothing.
if TYPE_CHECKING:
    from executor.project.commit import Commit
    from executor.project.git.repository_export import Reader
    from executor.project.rules.names import ObeyedNames
    from executor.project.store.manifest import ChangeSet
    from executor.project.view.record import Record
    from executor.project.view.search import ProjectSearch

LISTED_MAX = 500


@dataclass(frozen=True, slots=True)
class Door:
    """The parts that commits need."""

    search: ProjectSearch
    load_names: Callable[[], ObeyedNames]  # gives the table of names
    folder: Path  # of what is kept, and of journals
    shown: Sequence[str] = ()  # folders of the host that links may lead to
    # Tells the project's folder from another that takes its name: views may be of the first.
    identity: os.stat_result | None = None

    def record(self, *, whole: bool) -> Record:
        """Record the project as it is when a view of it begins.

        Only what is `whole` can be held against another record, or copied: it takes longer.

        Raises:
            RequestError: it is too large, or another folder is in its place.
            SandboxError: it can't be read.
        """
        project = self.search.project
        try:
            if self.identity and not os.path.samestat(self.identity, os.stat(project)):
                raise RequestError(
                    "another folder has taken the project's place since it was opened: what a run "
                    "sees would not be what is there",
                    "start the server anew",
                )
            if whole or not record.is_trusted(os.path.realpath(project)):
                return record.take(project, self.search.look().secrets)
            return record.begin(self.search)
        except OSError as error:
            raise SandboxError(f"the project can't be read: {error}") from error

    def commit(
        self,
        read_changes: Callable[[], ChangeSet],
        before: Record,
        label: str,
        *,
        stage: bool,
        read: Reader,
    ) -> Commit:
        """Commit what `read_changes` finds; the descriptor of contents and the record are closed.

        `read` has git read repositories in a sandbox. With `stage` all is kept for a person.

        Raises:
            SandboxError: nothing of it could be committed; it says why.
        """
        from executor.project.commit import commit_changes  # noqa: PLC0415
        from executor.project.rules.named_files import in_project  # noqa: PLC0415
        from executor.project.store.store import ChangeStore  # noqa: PLC0415

        with contextlib.ExitStack() as opened:
            opened.callback(before.close)
            try:
                changes = read_changes()
                opened.callback(os.close, changes.contents)
                names = self.load_names()
                if changes.changes:  # else nobody asks what it obeys
                    names = in_project(names, changes.record)
                store = ChangeStore(self.folder)
                done = commit_changes(
                    changes, names, store, label=label, stage=stage, shown=self.shown, read=read
                )
            except OSError as error:
                why = f"nothing of what the run changed was committed: {error}"
                raise SandboxError(why) from error
        return replace(done, changed=changes.changes) if stage else done


def set_in_order(folder: Path, project: Path) -> None:
    """Complete or take back what a server that died was committing; forget what is too old."""
    if not any(folder.glob("journals/*/*")) and not any(folder.glob("kept/*")):
        return
    from executor.project.store.store import ChangeStore  # noqa: PLC0415 - mostly there is nothing

    store = ChangeStore(folder)
    store.recover(project)
    store.expire()


def with_commit(result: Result, done: Commit, *, stage: bool) -> Result:
    """Return the result with what was committed, and what was not; names become text."""
    changed = [
        ChangedFile(
            readable(each.path) + "/" * (each.kind == "folder"),
            each.change,
            None if each.kind == "folder" or each.change == "deleted" else each.size,
            readable(each.source),
        )
        for each in done.changed
        if each.change != "times"
    ]
    left = [
        replace(one, path=readable(one.path), reason=readable(one.reason)) for one in done.left_out
    ]
    return replace(
        result,
        changed_files=tuple(changed[:LISTED_MAX]),
        changed_files_omitted=max(0, len(changed) - LISTED_MAX),
        not_committed=tuple(left[:LISTED_MAX]),
        changes_id=done.id or None,
        persists=not stage,
    )
