"""Applying a plan: contents are written next to their targets, then all steps are done, or none."""

from __future__ import annotations

import contextlib
import ctypes
import os
import secrets
import shutil
import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from executor.model import LeftOut
from executor.project.apply import staging
from executor.project.apply.arrangement import (
    Arrangement,
    Operation,
    execute,
    is_as_expected,
    left_as_changed,
)
from executor.project.apply.staging import Preparing, remove
from executor.project.git.host import GitError, HostGit
from executor.project.git.repository_import import Taking, take
from executor.project.plan.conflicts import Plan
from executor.project.store.manifest import ChangeSet, CommitError, decode, encode
from executor.project.view.record import is_below
from executor.project.view.tree import FOLDER_FLAGS, Tree, open_tree, split

PREPARING, READY = ".preparing", ".ready"


class Journal:
    """The steps of one commit: undone after a crash if they are not ready, otherwise completed."""

    def __init__(self, path: Path) -> None:
        """Use files named like `path`, with a suffix for the journal's state."""
        self.path = path

    def begin(self, operations: Sequence[Operation]) -> None:
        """Write the steps before anything is prepared, and copy the packs that they need.

        Raises:
            OSError: the store can't be written.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._write(operations, PREPARING)
        for each in operations:
            if each.taking is not None:
                shutil.copyfile(each.taking.carried.pack, self._pack_of(each))

    def ready(self, operations: Sequence[Operation]) -> None:
        """Record that all of these steps are prepared, and no others.

        Raises:
            OSError: the store can't be written.
        """
        self._write(operations, READY)
        self.path.with_suffix(PREPARING).unlink()

    def end(self) -> None:
        """Delete the files of a commit that is done, or undone; the packs last."""
        found = self.path.parent.glob(f"{self.path.name}.*")
        for path in sorted(found, key=lambda one: one.suffix not in (PREPARING, READY)):
            path.unlink()

    def read(self) -> tuple[Sequence[Operation], bool]:
        """Return the steps, and whether they are ready.

        Raises:
            OSError: the journal can't be read.
            ValueError: another version wrote it.
        """
        for end in (READY, PREPARING, ".jsonl"):  # the last one is of earlier versions
            path = self.path.with_suffix(end)
            if path.exists():
                return decode(list[Operation], path.read_text("ascii")), end == READY
        return (), False

    def _write(self, operations: Sequence[Operation], end: str) -> None:
        """Write a file atomically: it is complete, or missing."""
        noted = [
            replace(each, taking=each.taking.with_pack(self._pack_of(each)))
            if each.taking
            else each
            for each in operations
        ]
        new = self.path.with_suffix(".new")
        with open(new, "w", encoding="ascii") as file:
            file.write(encode(noted))
            file.flush()
            os.fsync(file.fileno())
        new.rename(self.path.with_suffix(end))
        folder = os.open(self.path.parent, FOLDER_FLAGS)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _pack_of(self, operation: Operation) -> Path:
        return self.path.with_suffix(f".pack{operation.unit}")


S_MAX = 3.0  # other programs may have written gigabytes to the same disk
NOT_WHOLE = "another part of its repository can't be applied"


def apply(
    plan: Plan, changes: ChangeSet, journals: Path, *, all_or_nothing: bool
) -> tuple[bool, Sequence[LeftOut]]:
    """Apply the changes of a plan; return whether they were applied, and those left out because
    someone else changed their paths.

    The contents of those left out stay where they were. With `all_or_nothing` any such conflict
    leaves everything as it was.

    Raises:
        CommitError: the project can't be written. Then nothing is applied.
    """
    token = secrets.token_hex(8)
    arrangement = Arrangement(plan, token)
    operations = arrangement.operations
    if not operations:
        return True, ()
    journal = Journal(journals / token)
    with open_tree(plan.project) as project, Tree(changes.contents) as contents:
        preparing = Preparing(plan, project, changes, contents)
        try:
            journal.begin(operations)
            staging.step()
            unwritten = preparing.prepare(arrangement.preparations)
            ready, others, conflicts = _look_again(operations, project, unwritten)
            if conflicts and all_or_nothing:
                _take_back(operations, project, journal)
                return False, conflicts
            _remove_prepared(others, project)
            # A start after a crash completes the commit from the prepared contents: sync them.
            sync(project.top)
            staging.step()
            journal.ready(ready)
        except OSError as error:
            _take_back(operations, project, journal)
            why = os.strerror(error.errno) if error.errno else str(error)
            raise CommitError(
                f"cannot write the project: {why}; no changes were applied",
                "Check free space and permissions of the project's folder, then run it again.",
            ) from error
        left_out = _complete(ready, plan.project, project, journal)
        preparing.forget_moved()
        return True, [*conflicts, *left_out]


def recover(place: Path, journals: Path) -> None:
    """Complete or undo commits to the project at `place` that were interrupted.

    Raises:
        OSError: the project can't be written.
        CommitError: a journal can't be read. It stays, and so do later ones.
    """
    if not place.is_dir():  # the project is gone: nothing can be completed
        return
    for path in sorted({found.with_suffix("") for found in journals.glob("*.*")}):
        journal = Journal(path)
        with open_tree(place) as project:
            try:
                operations, is_ready = journal.read()
            except ValueError:
                raise CommitError(
                    f"cannot read {path}: it is a commit that another version started",
                    f"Delete files named .ctxmode-* in {place}, then that journal, and check "
                    "`git diff`.",
                ) from None
            if is_ready:
                _complete(operations, place, project, journal)
            else:
                _take_back(operations, project, journal)


def _complete(
    operations: Sequence[Operation], place: Path, project: Tree, journal: Journal
) -> Sequence[LeftOut]:
    left_out = []
    not_taken = set[int]()
    for operation in operations:
        staging.step()
        if operation.taking is not None:
            left = _take(operation.taking, operation.path, place)
            not_taken |= {operation.unit} if left else set()
        elif operation.unit in not_taken:
            left = LeftOut(operation.path, NOT_WHOLE, "conflict")
        else:
            left = execute(operation, project)
        if left is not None:
            left_out.append(left)
            _remove_prepared([operation], project)
    staging.step()
    if journal.path.parent.stat().st_dev != os.fstat(project.top).st_dev:
        # On a single disk their order is kept anyway.
        sync(project.top)
    journal.end()
    return left_out


def _take(taking: Taking, path: str, place: Path) -> LeftOut | None:
    """Apply a run's changes to a repository; return the reason if that fails."""
    try:
        take(taking, HostGit(place / path), "context-mode run")
    except (GitError, OSError, ValueError) as error:
        why = f"{error}; no changes to this repository are applied"
        return LeftOut(path or ".", why, "repository")
    return None


def _look_again(
    operations: Sequence[Operation], project: Tree, unwritten: Sequence[LeftOut]
) -> tuple[Sequence[Operation], Sequence[Operation], Sequence[LeftOut]]:
    """Return the steps that can be done now, those that can't, and why they can't."""
    told = {each.path: each for each in unwritten}
    closed = set(told)
    ready, others = [], []
    for each in operations:
        is_closed = is_below(each.path, closed)
        if not is_closed and _is_ready(each, project):
            ready.append(each)
            continue
        others.append(each)
        if not is_closed:
            told.setdefault(each.path, left_as_changed(each))
    return ready, others, tuple(told.values())


def _is_ready(operation: Operation, project: Tree) -> bool:
    """Return whether the path of a step is in the state that the step expects."""
    is_any = operation.kind == "attributes" and operation.expected is None
    if is_any or operation.kind == "take":  # git checks refs against their former values
        return True
    info = project.info(operation.path)
    is_done = info is None and operation.kind == "delete"
    return is_done or is_as_expected(info, operation.expected)


def _take_back(operations: Sequence[Operation], project: Tree, journal: Journal) -> None:
    _remove_prepared(operations, project)
    with contextlib.suppress(OSError):
        journal.end()


def _remove_prepared(operations: Iterable[Operation], project: Tree) -> None:
    for each in operations:
        if each.kind == "put":
            with contextlib.suppress(OSError):
                remove(each.temporary, project.folder(split(each.path)[0]))


def sync(folder: int) -> bool:
    """Write the file system of an open folder to disk, so that a crash leaves no empty files;
    return whether it finished in time.

    A slower disk is not waited for: writing continues in the background. One syncfs(2) costs some
    milliseconds, however many files there are; an fdatasync(2) costs as much for each file.
    """
    try:
        own = os.dup(folder)
    except OSError:
        return False

    def write_out() -> None:
        try:
            # Not in the os module. A disk error would also show at the next read.
            ctypes.CDLL(None).syncfs(own)
        finally:
            os.close(own)

    thread = threading.Thread(target=write_out, daemon=True)
    thread.start()
    thread.join(S_MAX)
    return not thread.is_alive()
