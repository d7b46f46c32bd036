"""Applying a plan: contents beside their targets, then all steps; or nothing of it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import secrets
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from executor.project.apply import staging
from executor.project.apply.arrangement import Arrangement
from executor.project.apply.journal import Journal
from executor.project.apply.operations import Operation, execute, is_as_expected, left_as_changed
from executor.project.apply.staging import Preparing, remove
from executor.project.git.host import GitError, HostGit
from executor.project.git.taking import Taking, take
from executor.project.plan.plan import Plan
from executor.project.store.manifest import ChangeSet, CommitError, LeftOut
from executor.project.view.record import is_below
from executor.project.view.tree import Tree, split
from executor.project.view.walking import FOLDER_FLAGS

S_MAX = 3.0  # others may have written gigabytes to the same disk
NOT_WHOLE = "something of its repository can't be applied"


class Applied(NamedTuple):
    """Whether anything was applied, and what was not since someone else had changed it."""

    is_done: bool
    left_out: Sequence[LeftOut]


def apply(plan: Plan, changes: ChangeSet, journals: Path, *, all_or_nothing: bool) -> Applied:
    """Bring the changes of a plan into the project; what someone changed since is left, and told.

    The content of what is left is where it was. With `all_or_nothing` any such conflict leaves
    everything as it was.

    Raises:
        CommitError: the project can't be written. Nothing is applied then.
    """
    token = secrets.token_hex(8)
    arrangement = Arrangement(plan, token)
    operations = arrangement.operations
    if not operations:
        return Applied(True, ())
    journal = Journal(journals / f"{token}.jsonl")
    top = os.open(plan.project, FOLDER_FLAGS)
    try:
        with Tree(top) as project, Tree(changes.contents) as contents:
            preparing = Preparing(plan, project, changes, contents)
            try:
                journal.begin(operations)
                staging.step()
                unwritten = preparing.prepare(arrangement.preparations)
                conflicts, skipped = _look_again(operations, project, unwritten)
                if conflicts and all_or_nothing:
                    _take_back(operations, project, journal)
                    return Applied(False, conflicts)
                # A start after a crash completes it by what was prepared, which then is whole.
                sync(top)
                staging.step()
                journal.ready(skipped)
            except OSError as error:
                _take_back(operations, project, journal)
                why = os.strerror(error.errno) if error.errno else str(error)
                raise CommitError(
                    f"the project can't be written ({why}); nothing of the changes is applied",
                    "see to the room and the permissions in the project's folder, and run it again",
                ) from error
            left_out = _complete(operations, skipped, plan.project, project, journal)
            preparing.forget_moved()
            return Applied(True, [*conflicts, *left_out])
    finally:
        os.close(top)


def recover(place: Path, journals: Path) -> None:
    """Complete or take back what commits to the project at `place` left that died.

    Raises:
        OSError: the project can't be written.
        CommitError: a journal can't be read. It stays, and so do others.
    """
    try:
        found = sorted(journals.glob("*.jsonl"))
        top = os.open(place, FOLDER_FLAGS)
    except OSError:  # the project is gone: there is nothing to complete
        return
    try:
        for path in found:
            with Tree(top) as project:
                _recover(Journal(path), place, project)
    finally:
        os.close(top)


def _recover(journal: Journal, place: Path, project: Tree) -> None:
    try:
        operations, skipped = journal.read()
    except ValueError:
        raise CommitError(
            f"a commit was interrupted that another version began: {journal.path} can't be read",
            f"delete files named .ctxmode-* in {place}, then that journal, and look at `git diff`",
        ) from None
    if skipped is None:
        _take_back(operations, project, journal)
    else:
        _complete(operations, skipped, place, project, journal)


def _complete(
    operations: Sequence[Operation],
    skipped: frozenset[int],
    place: Path,
    project: Tree,
    journal: Journal,
) -> Sequence[LeftOut]:
    _remove_prepared((each for at, each in enumerate(operations) if at in skipped), project)
    left_out = []
    not_taken = set[int]()
    for at, operation in enumerate(operations):
        if at in skipped:
            continue
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
    if not journal.is_on(os.fstat(project.top).st_dev):  # else the disk keeps their order
        sync(project.top)
    journal.end()
    return left_out


def _take(taking: Taking, path: str, place: Path) -> LeftOut | None:
    """Take what a run left of a repository; why that can't be."""
    try:
        take(taking, HostGit(place / path), "context-mode run")
    except (GitError, OSError, ValueError) as error:
        why = f"{error}; nothing of this repository is applied"
        return LeftOut(path or ".", why, "repository")
    return None


def _look_again(
    operations: Sequence[Operation], project: Tree, unwritten: Sequence[LeftOut]
) -> tuple[Sequence[LeftOut], frozenset[int]]:
    """What can't be applied, or changed while contents were prepared; the steps to leave out."""
    told = {each.path: each for each in unwritten}
    closed, skipped = set(told), set[int]()
    for at, each in enumerate(operations):
        if closed and is_below(each.path, closed):
            skipped.add(at)
        elif not _is_ready(each, project):
            skipped.add(at)
            told.setdefault(each.path, left_as_changed(each))
    return tuple(told.values()), frozenset(skipped)


def _is_ready(operation: Operation, project: Tree) -> bool:
    """Whether the path of a step is as that expects it."""
    is_any = operation.kind == "attributes" and operation.expected is None
    if is_any or operation.kind == "take":  # refs are moved against what they were
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
    """Write out the file system of an open folder, so that a crash of the machine leaves no empty
    files; return whether that was done in time.

    A disk that is slower is not waited for: it goes on with it. One syncfs(2) costs some
    milliseconds, however many files there are; an fdatasync(2) costs as much for each file.
    """
    try:
        own = os.dup(folder)
    except OSError:
        return False

    def write_out() -> None:
        try:
            # Not in the os module; an error of the disk is one of reading later, too.
            ctypes.CDLL(None).syncfs(own)
        finally:
            os.close(own)

    thread = threading.Thread(target=write_out, daemon=True)
    thread.start()
    thread.join(S_MAX)
    return not thread.is_alive()
