"""Commits of a run's changes: the only way in. Change sets are stored for the user's decision, and
journals of commits in progress."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import tempfile
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

from base import clock
from base.locks import hold_lock
from executor.instance.lock import remove
from executor.model import LeftOut
from executor.project.apply.apply import apply, recover
from executor.project.git.differences import find_renames
from executor.project.git.history import BroughtObjects
from executor.project.git.repository_export import NothingToRead, Reader
from executor.project.plan.conflicts import CommitRules, Plan
from executor.project.plan.planning import plan
from executor.project.rules.names import ObeyedNames
from executor.project.store import change_set_folder
from executor.project.store.change_set_folder import (
    Kept,
    as_change_set,
    diff_lines,
    make_rules,
    merge_conflicts,
    select,
)
from executor.project.store.manifest import (
    PREVENTING,
    Change,
    ChangeSet,
    Commit,
    CommitError,
    list_changes,
)
from executor.project.store.run_drafts import RunDrafts
from executor.project.view.record import is_below
from executor.project.view.tree import Tree, open_tree

AGE_S_MAX = 7 * 24 * 3600
BYTES_MAX = 4 << 30
UNFINISHED_S_MAX = 24 * 3600
WAIT_S_MAX = 30.0
ATTRIBUTES = ("mode", "times")  # changes of a folder that do not affect its contents


class UnknownChangesError(LookupError):
    """No readable change set has this id; `candidates` are the nearest."""

    def __init__(self, message: str, candidates: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.candidates = tuple(candidates)


class ChangeStore:
    """The stored changes, in one folder of the user's state."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def _sets(self) -> Path:
        return self.folder / "kept"

    def journals(self, project: Path) -> Path:
        """Return the folder of the journals of a project's commits."""
        return self.folder / "journals" / _key_of(project)

    def brought(self) -> BroughtObjects:
        """Return the names of git's objects that runs added to any project."""
        return BroughtObjects(self.folder / "objects" / "all.names")

    @contextmanager
    def committing(self, project: Path) -> Iterator[None]:
        """Lock a project for one commit, after completing or undoing interrupted ones.

        Raises:
            CommitError: others hold the lock for too long, or the store can't be written.
        """
        lock = self.folder / "locks" / _key_of(project)
        try:
            lock.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with hold_lock(lock, WAIT_S_MAX):
                recover(project, self.journals(project))
                yield
        except CommitError:
            raise
        except BlockingIOError:
            raise CommitError(
                f"another run's changes were being committed to this project for over "
                f"{WAIT_S_MAX:.0f} s; none of this run's are applied",
                "Run it again when that is done.",
            ) from None
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else str(error)
            raise CommitError(
                f"cannot commit changes: {why}; none of them are applied",
                f"Check free space and permissions of {self.folder} and {project}.",
            ) from error

    def bring_in(
        self, changes: ChangeSet, planned: Plan, *, all_or_nothing: bool
    ) -> tuple[bool, Sequence[LeftOut]]:
        """Apply a plan while committing; return whether that was done, and what `apply` left out.

        Raises:
            CommitError: the project can't be written. Then nothing is applied.
        """
        brought = self.brought()
        for _, taking in planned.takings:
            brought.add(taking.objects)
        with Tree(changes.contents) as tree:
            RunDrafts(self.folder).add(planned.project, planned.changes, tree)
        journals = self.journals(planned.project)
        return apply(planned, changes, journals, all_or_nothing=all_or_nothing)

    def keep(
        self, changes: ChangeSet, left_out: Sequence[LeftOut], *, label: str, staged: bool
    ) -> str:
        """Store changes with their contents, and repositories; return their id.

        Raises:
            OSError: the store can't be written.
        """
        name = secrets.token_hex(4)
        files = (c for c in changes.changes if c.kind == "file" and c.change != "deleted")
        new = Kept(
            name,
            changes.record.project,
            label,
            time.time(),
            sum(each.size for each in files),
            staged,
            changes.changes,
            tuple(left_out),
            changes.record.hidden,
            changes.repositories,
        )
        unfinished = self._sets / f".{name}"
        try:
            change_set_folder.write(unfinished, new, changes.contents)
            os.rename(unfinished, self._sets / name)
        except BaseException:
            remove(unfinished)
            raise
        return name

    def list(self, project: Path) -> Sequence[Kept]:
        """Return the change sets stored for a project, newest first."""
        place = Path(os.path.realpath(project))
        found = [kept for kept in map(self._read, self._names()) if kept]
        return sorted((k for k in found if k.project == place), key=lambda k: -k.made)

    def get(self, id: str) -> Kept:  # noqa: A002 - the usual name
        """Return the change set with an id, or the only one whose id begins so.

        Raises:
            UnknownChangesError: it does not exist.
        """
        names = self._names()
        fitting = [id] if id in names else [name for name in names if id and name.startswith(id)]
        if len(fitting) != 1:
            near = fitting or get_close_matches(id, names) or names[:5]
            more = f"stored: {', '.join(near)}" if near else "none are stored"
            raise UnknownChangesError(f"no changes with id {id!r} ({more})", near)
        kept = self._read(fitting[0])
        if kept is None:
            place = self._sets / fitting[0]
            raise UnknownChangesError(
                f"another version stored the changes in {place}: they stay there", fitting
            )
        return kept

    def _names(self) -> Sequence[str]:
        try:
            return sorted(name for name in os.listdir(self._sets) if not name.startswith("."))
        except OSError:
            return []

    def _read(self, name: str) -> Kept | None:
        try:
            return change_set_folder.read_kept(self._sets / name)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def diff(self, kept: Kept, path: str | None) -> Iterator[str]:
        """Yield lines of a unified diff against the present project: all, or below one path.

        Raises:
            CommitError: there are no changes at the path.
            OSError: the stored files can't be read.
        """
        chosen = select(kept, [path] if path else [])
        with open_tree(self._sets / kept.id / change_set_folder.CONTENTS) as contents:
            yield from diff_lines(chosen, kept.project, contents.top)

    def apply(  # noqa: PLR0913 - the options of a user
        self,
        id: str,  # noqa: A002
        paths: Sequence[str] = (),
        *,
        names: ObeyedNames,
        dry_run: bool = False,
        theirs: Sequence[str] = (),
        merge: bool = False,
        shown: Sequence[str] = (),
    ) -> Commit:
        """Apply stored changes with the user's approval: all, or some paths and those below them.

        Held ones are applied; never-committed ones only if a path names them exactly. With any
        conflict nothing is applied. `theirs` are paths to take from the run; `merge` merges lines.

        Raises:
            UnknownChangesError: the id does not exist.
            CommitError: the project can't be written, or is busy. Then nothing is applied.
        """
        kept = self.get(id)
        folder = self._sets / kept.id
        with (
            self.committing(kept.project),
            tempfile.TemporaryDirectory(prefix="ctxmode-") as aside,
            as_change_set(kept, folder, paths) as changes,
        ):
            os.chmod(aside, 0o711)  # noqa: S103 - git unpacks there as the project's owner
            rules = make_rules(names, shown, paths, theirs)
            planned = plan(changes, rules, self.brought(), NothingToRead(Path(aside)))
            conflicts = [left for left in planned.left_out if left.kind in PREVENTING]
            if not conflicts or not merge:
                return self._decide(kept, changes, planned, dry_run=dry_run)
            with merge_conflicts(changes, conflicts, folder) as (both, texts):
                rules = make_rules(names, shown, paths, (*theirs, *texts))
                planned = plan(both, rules, self.brought(), NothingToRead(Path(aside, "merged")))
                return self._decide(kept, both, planned, dry_run=dry_run)

    def _decide(self, kept: Kept, changes: ChangeSet, planned: Plan, *, dry_run: bool) -> Commit:
        if any(left.kind in PREVENTING for left in planned.left_out):
            return Commit((), planned.left_out, kept.id)
        renames = find_renames(planned.changes, planned.project, changes.contents)
        if dry_run:
            return Commit(list_changes(planned.changes, renames), planned.left_out, kept.id)
        done, late = self.bring_in(changes, planned, all_or_nothing=True)
        if not done:
            return Commit((), tuple(late), kept.id)
        missed = {left.path for left in late}
        waiting = {c.path for c in planned.kept}
        waiting |= {c.path for c in kept.changes if is_below(c.path, missed)}
        decided = {c.path for c in changes.changes} - waiting
        decided |= {taking.carried.control for _, taking in planned.takings} - missed
        name = self._keep_rest(kept, decided)
        applied = [c for c in planned.changes if not is_below(c.path, missed)]
        return Commit(list_changes(applied, renames), (*planned.left_out, *late), name)

    def _keep_rest(self, kept: Kept, decided: Collection[str]) -> str:
        """Store the changes not yet decided on; return their id, "" without any."""
        rest = tuple(each for each in kept.changes if each.path not in decided)
        takings = tuple(one for one in kept.takings if one.carried.control not in decided)
        if not takings and all(each.kind == "folder" and each.change == "times" for each in rest):
            self._forget(kept.id)
            return ""
        left_out = tuple(each for each in kept.left_out if each.path not in decided)
        changed = replace(kept, changes=rest, left_out=left_out, takings=takings)
        change_set_folder.write_manifest(self._sets / kept.id, changed)
        return kept.id

    def expire(self) -> None:
        """Delete sets older than seven days, and the oldest while all exceed 4 GiB. If the clock
        may have jumped, none is too old: the user has not decided on it yet."""
        found = [kept for kept in map(self._read, self._names()) if kept]
        now, room = time.time(), BYTES_MAX
        is_confirmed = clock.is_confirmed(now, AGE_S_MAX, (kept.made for kept in found))
        for kept in sorted(found, key=lambda each: -each.made):
            room -= kept.size
            if (is_confirmed and now - kept.made > AGE_S_MAX) or room < 0:
                with contextlib.suppress(OSError):
                    self._forget(kept.id)
        self._remove_unfinished()

    def _remove_unfinished(self) -> None:
        """Remove the folders of writers that died."""
        with contextlib.suppress(OSError):
            for entry in list(os.scandir(self._sets)):
                age_s = time.time() - entry.stat(follow_symlinks=False).st_mtime
                if entry.name.startswith(".") and age_s > UNFINISHED_S_MAX:
                    remove(Path(entry.path))

    def drop(self, id: str) -> None:  # noqa: A002
        """Delete a change set.

        Raises:
            UnknownChangesError: the id does not exist.
        """
        self._forget(self.get(id).id)

    def _forget(self, name: str) -> None:
        gone = self._sets / f".{name}"
        os.rename(self._sets / name, gone)
        remove(gone)

    def recover(self, project: Path) -> None:
        """Complete or undo interrupted commits to this project.

        Raises:
            CommitError: another commit takes too long.
        """
        with self.committing(Path(os.path.realpath(project))):
            pass


def _key_of(project: Path) -> str:
    """Return a name for files stored about a project."""
    return hashlib.sha256(os.fsencode(os.path.realpath(project))).hexdigest()[:16]


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
