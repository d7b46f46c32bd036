"""Change sets that are kept for a person to decide, and the journals of commits under way."""

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
from executor.project.git.host import GitError
from executor.project.git.repository_export import Scratch
from executor.project.plan.conflicts import Plan
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
from executor.project.store.manifest import PREVENTING, ChangeSet, Commit, CommitError, list_changes
from executor.project.store.run_drafts import RunDrafts
from executor.project.view.record import is_below
from executor.project.view.tree import Tree, open_tree

AGE_S_MAX = 7 * 24 * 3600
BYTES_MAX = 4 << 30
UNFINISHED_S_MAX = 24 * 3600
WAIT_S_MAX = 30.0


class UnknownChangesError(LookupError):
    """No change set has this id, or none that can be read; `candidates` are the nearest."""

    def __init__(self, message: str, candidates: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.candidates = tuple(candidates)


class NothingToRead:
    """A reader that refuses: kept repositories are known already. It is unpacked in `place`."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __call__(self, scratch: Scratch, script: str, arguments: Sequence[str]) -> Path:
        """Refuse.

        Raises:
            GitError: always.
        """
        raise GitError("a repository among files is not read")


class ChangeStore:
    """Everything kept, below one folder of the user's state."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def _sets(self) -> Path:
        return self.folder / "kept"

    def journals(self, project: Path) -> Path:
        """The folder of the journals of a project's commits."""
        return self.folder / "journals" / _key_of(project)

    def brought(self) -> BroughtObjects:
        """The names of git's objects that runs brought into any project."""
        return BroughtObjects(self.folder / "objects" / "all.names")

    @contextmanager
    def committing(self, project: Path) -> Iterator[None]:
        """Be the only one that commits to a project, after those that died were seen to.

        Raises:
            CommitError: others are at it for too long, or the store can't be written.
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
                f"{WAIT_S_MAX:.0f} s; nothing of this one's is applied",
                "run it again when that is done",
            ) from None
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else str(error)
            raise CommitError(
                f"changes can't be committed ({why}); nothing of them is applied",
                f"see to the room and the permissions in {self.folder} and {project}",
            ) from error

    def bring_in(
        self, changes: ChangeSet, planned: Plan, *, all_or_nothing: bool
    ) -> tuple[bool, Sequence[LeftOut]]:
        """Apply a plan while committing; whether that was done, and what was left (see `apply`).

        Raises:
            CommitError: the project can't be written. Nothing is applied then.
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
        """Keep changes with their contents, and repositories; the id to ask for them.

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
        """Return what is kept for a project, newest first."""
        place = Path(os.path.realpath(project))
        found = [kept for kept in map(self._read, self._names()) if kept]
        return sorted((k for k in found if k.project == place), key=lambda k: -k.made)

    def get(self, id: str) -> Kept:  # noqa: A002 - the usual name
        """Return what is kept under an id, or under the only one that begins so.

        Raises:
            UnknownChangesError: there is none.
        """
        names = self._names()
        fitting = [id] if id in names else [name for name in names if id and name.startswith(id)]
        if len(fitting) != 1:
            near = fitting or get_close_matches(id, names) or names[:5]
            more = f"there are: {', '.join(near)}" if near else "none is kept"
            raise UnknownChangesError(f"no changes are kept under {id!r}; {more}", near)
        kept = self._read(fitting[0])
        if kept is None:
            place = self._sets / fitting[0]
            raise UnknownChangesError(
                f"another version kept the changes in {place}: they stay there", fitting
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
        """Lines of a unified diff against the project as it is now, of all or below one path.

        Raises:
            CommitError: there is nothing at the path.
            OSError: what was kept can't be read.
        """
        chosen = select(kept, [path] if path else [])
        with open_tree(self._sets / kept.id / change_set_folder.CONTENTS) as contents:
            yield from diff_lines(chosen, kept.project, contents.top)

    def apply(  # noqa: PLR0913 - as a person may say it
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
        """Apply kept changes with a person's consent: all, or some paths and what is below them.

        Held ones are applied; never ones where a path names them exactly. Any conflict applies
        nothing. `theirs` names conflicting paths to take from the run; `merge` merges lines.

        Raises:
            UnknownChangesError: there is none of this id.
            CommitError: the project can't be written, or is busy. Nothing is applied then.
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
        """Keep what was not decided on yet; the id, empty where that is nothing."""
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
        """Forget what is older than seven days, and the oldest while all are over 4 GiB. By a clock
        that may have leapt nothing is too old: a person has not decided on it yet."""
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
        """Remove what a writer left that died."""
        with contextlib.suppress(OSError):
            for entry in list(os.scandir(self._sets)):
                age_s = time.time() - entry.stat(follow_symlinks=False).st_mtime
                if entry.name.startswith(".") and age_s > UNFINISHED_S_MAX:
                    remove(Path(entry.path))

    def drop(self, id: str) -> None:  # noqa: A002
        """Forget a change set.

        Raises:
            UnknownChangesError: there is none of this id.
        """
        self._forget(self.get(id).id)

    def _forget(self, name: str) -> None:
        gone = self._sets / f".{name}"
        os.rename(self._sets / name, gone)
        remove(gone)

    def recover(self, project: Path) -> None:
        """Complete, or take back, what a commit to this project left when it died.

        Raises:
            CommitError: another commit is under way for too long.
        """
        with self.committing(Path(os.path.realpath(project))):
            pass


def _key_of(project: Path) -> str:
    """A name for what is stored of a project."""
    return hashlib.sha256(os.fsencode(os.path.realpath(project))).hexdigest()[:16]
