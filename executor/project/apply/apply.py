"""Applying a plan: contents beside their targets, then all steps; or nothing of it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from executor.project.apply import steps
from executor.project.apply.arrangement import Arrangement, arrange
from executor.project.apply.journal import Journal
from executor.project.apply.operations import MOVED_ON, Operation, execute, is_as_expected
from executor.project.apply.removing import remove
from executor.project.apply.staging import Preparing
from executor.project.git.host import GitError, HostGit
from executor.project.git.taking import Taking, take
from executor.project.plan.plan import Plan
from executor.project.store.manifest import LeftOut
from executor.project.store.outcome import CommitError
from executor.project.view.record import EntryState, is_below
from executor.project.view.tree import Tree, split
from executor.project.view.walking import FOLDER_FLAGS

S_MAX = 3.0  # others may have written gigabytes to the same disk
NOT_WHOLE = "something of its repository can't be applied"
PutBack = Callable[[frozenset[str]], None]  # takes the places of what is not to stay there


class Applied(NamedTuple):
    """Whether anything was applied, and what was not since someone else had changed it."""

    is_done: bool
    left_out: Sequence[LeftOut]


class Contents(NamedTuple):
    """The folder of what is to be applied, and whether it may be moved away from there."""

    descriptor: int
    may_move: bool = False


def apply(plan: Plan, contents: Contents, journals: Path, *, all_or_nothing: bool) -> Applied:
    """Bring the changes of a plan into the project; what someone changed since is left, and told.

    The content of what is left is where it was. With `all_or_nothing` any such conflict leaves
    everything as it was.

    Raises:
        CommitError: the project can't be written. Nothing is applied then.
    """
    token = secrets.token_hex(8)
    arrangement = arrange(plan, token)
    if not arrangement.operations:
        return Applied(True, ())
    journal = Journal(journals / f"{token}.jsonl")
    for number, taking in plan.takings:
        taking.save(journal.folder / str(number))
    top = os.open(plan.project, FOLDER_FLAGS)
    try:
        with Tree(top) as project, Tree(contents.descriptor) as source:
            preparing = Preparing(plan, project, source, may_move=contents.may_move)
            applying = _Applying(arrangement, project, journal, preparing.put_back)
            conflicts = applying.prepare(
                lambda: preparing.prepare(arrangement.preparations), all_or_nothing
            )
            if conflicts and all_or_nothing:
                return Applied(False, conflicts)
            left_out = _complete(
                applying.operations,
                applying.skipped,
                plan.project,
                project,
                journal,
                preparing.put_back,
            )
            return Applied(True, [*conflicts, *left_out])
    finally:
        os.close(top)


class _Applying:
    """Steps that are taken back until all of them are prepared, and completed from then on."""

    def __init__(
        self, arrangement: Arrangement, project: Tree, journal: Journal, put_back: PutBack
    ) -> None:
        self.operations = arrangement.operations
        self.moved = arrangement.moved
        self.project = project
        self.journal = journal
        self.put_back = put_back
        self.skipped: frozenset[int] = frozenset()

    def prepare(
        self, write: Callable[[], Sequence[LeftOut]], all_or_nothing: bool
    ) -> Sequence[LeftOut]:
        """Write contents; what prevents some of it by now, for which all may be taken back.

        Raises:
            CommitError: the project can't be written. What was prepared is taken back.
        """
        try:
            self.journal.begin(self.operations)
            steps.step()
            unwritten = write()
            conflicts, self.skipped = _look_again(
                self.operations, self.moved, self.project, unwritten
            )
            if conflicts and all_or_nothing:
                _take_back(self.operations, self.project, self.put_back)
                self.journal.end()
            else:
                # A start after a crash completes it by what was prepared, which then is whole.
                sync(self.project.top)
                steps.step()
                self.journal.ready(self.skipped)
        except OSError as error:
            _take_back(self.operations, self.project, self.put_back)
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
                    _complete(entry.operations, entry.left_out, project, tree, journal)
                else:
                    _take_back(entry.operations, tree)
                    journal.end()
    finally:
        os.close(top)


def _complete(
    operations: Sequence[Operation],
    skipped: frozenset[int],
    place: Path,
    project: Tree,
    journal: Journal,
    put_back: PutBack = lambda _: None,
) -> Sequence[LeftOut]:
    _take_back([each for at, each in enumerate(operations) if at in skipped], project, put_back)
    left_out = []
    not_taken = set[int]()
    for at, operation in enumerate(operations):
        if at in skipped:
            continue
        steps.step()
        if operation.kind == "take":
            left = _take(operation, place, journal)
            not_taken |= {operation.unit} if left else set()
        elif operation.unit in not_taken:
            left = LeftOut(operation.path, NOT_WHOLE, "conflict")
        else:
            left = execute(operation, project)
        if left is not None:
            left_out.append(left)
            if operation.source:
                left_out.append(LeftOut(operation.source, left.reason, left.kind))
            _take_back([operation], project, put_back)
    steps.step()
    if not journal.is_on(os.fstat(project.top).st_dev):  # else the disk keeps their order
        sync(project.top)
    journal.end()
    return left_out


def _take(operation: Operation, place: Path, journal: Journal) -> LeftOut | None:
    """Take what a run left of a repository; why that can't be."""
    try:
        taking = Taking.load(journal.folder / operation.temporary)
        take(taking, HostGit(place / operation.path), "context-mode run")
    except (GitError, OSError, ValueError) as error:
        why = f"{error}; nothing of this repository is applied"
        return LeftOut(operation.path or ".", why, "repository")
    return None


def _look_again(
    operations: Sequence[Operation],
    moved: Mapping[str, EntryState],
    project: Tree,
    unwritten: Sequence[LeftOut],
) -> tuple[Sequence[LeftOut], frozenset[int]]:
    """What can't be applied, or changed while contents were prepared; the steps to leave out."""
    closed = {each.path for each in unwritten}
    skipped = _find_changed(operations, moved, project)
    skipped |= {at for at, each in enumerate(operations) if closed and is_below(each.path, closed)}
    stays = {operations[at].path for at in skipped if operations[at].kind == "move"}
    skipped |= {at for at, each in enumerate(operations) if stays and is_below(each.path, stays)}
    told = {each.path: each for each in unwritten}
    for at in sorted(skipped):
        for path in filter(None, (operations[at].path, operations[at].source)):
            if not is_below(path, closed):
                told.setdefault(path, LeftOut(path, MOVED_ON, "conflict"))
    return tuple(told.values()), frozenset(skipped)


def _find_changed(
    operations: Sequence[Operation], moved: Mapping[str, EntryState], project: Tree
) -> set[int]:
    """The steps whose paths are no longer as they expect them."""

    def is_still(path: str, expected: EntryState | None) -> bool:
        return is_as_expected(project.info(path), expected)

    others = {path for path, was in moved.items() if not is_still(path, was)}
    changed, tops = set[int](), set[str]()
    for at, each in enumerate(operations):
        if each.kind == "move":
            tops.add(each.path)
            below = f"{each.source}/"
            is_ready = is_still(each.source, each.expected) and is_still(each.path, None)
            is_ready = is_ready and not any(path.startswith(below) for path in others)
        elif each.kind == "take":
            is_ready = True  # its refs are moved against what they were
        elif each.kind == "attributes" and (each.expected is None or is_below(each.path, tops)):
            is_ready = True  # what is moved is not there yet
        else:
            is_ready = is_still(each.path, each.expected)
        if not is_ready:
            changed.add(at)
    return changed


def _take_back(
    operations: Sequence[Operation], project: Tree, put_back: PutBack = lambda _: None
) -> None:
    """Remove what was prepared, but for what was moved there: that is put back."""
    puts = [(*split(each.path), each.temporary) for each in operations if each.kind == "put"]
    if puts:
        put_back(frozenset(f"{folder}/{temporary}".lstrip("/") for folder, _, temporary in puts))
    for folder, _, temporary in puts:
        with contextlib.suppress(OSError):
            remove(temporary, project.folder(folder))


def sync(folder: int) -> bool:
    """Write out the file system of an open folder, so that a crash of the machine leaves no empty
    files; return whether that was done in time.

    A disk that is slower is not waited for: it goes on with it. One syncfs(2) costs some
    milliseconds, however many files there are; an fdatasync(2) costs as much for each file.
    """
    done = threading.Event()
    try:
        own = os.dup(folder)
    except OSError:
        return False
    threading.Thread(target=_sync, args=(own, done), daemon=True).start()
    return done.wait(S_MAX)


def _sync(folder: int, done: threading.Event) -> None:
    try:
        # Not in the os module; an error of the disk is one of reading later, too.
        ctypes.CDLL(None).syncfs(folder)
        done.set()
    finally:
        os.close(folder)
