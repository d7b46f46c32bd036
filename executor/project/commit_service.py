"""The service through which a run's changes reach the project: one commit, when all have ended."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from executor.model import ChangedFile, RequestError, Result, SandboxError, readable
from executor.project.view import record

# The modules for commits take tens of milliseconds to load, and most runs commit nothing.
if TYPE_CHECKING:
    from executor.project.git.repository_export import Reader
    from executor.project.rules.names import ObeyedNames
    from executor.project.store.manifest import ChangeSet, Commit
    from executor.project.view.record import Record
    from executor.project.view.search import ProjectSearch

LISTED_MAX = 500


@dataclass(frozen=True, slots=True)
class CommitService:
    """The parts that commits need."""

    search: ProjectSearch
    load_names: Callable[[], ObeyedNames]  # loads the table of names
    folder: Path  # for stored changes and journals
    shown: Sequence[str] = ()  # folders of the host that links may point to
    # Identifies the project's folder if another one gets its name: views may show the first.
    identity: os.stat_result | None = None

    def record(self, *, whole: bool) -> Record:
        """Record the project's state when a view of it begins.

        Only a `whole` record can be compared with another one or copied: it takes longer.

        Raises:
            RequestError: the project is too large, or another folder is in its place.
            SandboxError: it can't be read.
        """
        project = self.search.project
        try:
            if self.identity and not os.path.samestat(self.identity, os.stat(project)):
                raise RequestError(
                    "the project's folder was replaced by another one after it was opened: a run "
                    "would not see the present files",
                    "Restart the server.",
                )
            if whole or not record.is_trusted(os.path.realpath(project)):
                return record.take(project, self.search.look().secrets)
            return record.begin(self.search)
        except OSError as error:
            raise SandboxError(f"cannot read the project: {error}") from error

    def commit(
        self,
        read_changes: Callable[[], ChangeSet],
        before: Record,
        label: str,
        *,
        stage: bool,
        read: Reader,
    ) -> Commit:
        """Commit the changes that `read_changes` finds; close their descriptor and the record.

        `read` runs git in a sandbox to read repositories. With `stage` all is held for review.

        Raises:
            SandboxError: nothing could be committed, with the reason.
        """
        from executor.project.rules.named_files import in_project  # noqa: PLC0415
        from executor.project.store.store import ChangeStore, commit_changes  # noqa: PLC0415

        with contextlib.ExitStack() as opened:
            opened.callback(before.close)
            try:
                changes = read_changes()
                opened.callback(os.close, changes.contents)
                names = self.load_names()
                if changes.changes:  # otherwise the project's own rules are not needed
                    names = in_project(names, changes.record)
                store = ChangeStore(self.folder)
                done = commit_changes(
                    changes, names, store, label=label, stage=stage, shown=self.shown, read=read
                )
            except OSError as error:
                why = f"none of the run's changes was committed: {error}"
                raise SandboxError(why) from error
        return replace(done, changed=changes.changes) if stage else done


def recover_commits(folder: Path, project: Path) -> None:
    """Complete or undo the commits of a server that died; delete expired changes."""
    if not any(folder.glob("journals/*/*")) and not any(folder.glob("kept/*")):
        return
    from executor.project.store.store import ChangeStore  # noqa: PLC0415 - usually not needed

    store = ChangeStore(folder)
    store.recover(project)
    store.expire()


def with_commit(result: Result, done: Commit, *, stage: bool) -> Result:
    """Return the result with the committed changes and those left out; names become text."""
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
